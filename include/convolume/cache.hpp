// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cache of plans. Functions that plan and compute in one call, such as convolve(), keep what
// they have planned in it: the plan, its workspaces, and the spectra of its kernel. A later call
// with the same shapes, types, options and kernel computes at once. Results are the same bit by bit
// as without the cache.
//
// All threads share the cache. The plans that were used least recently are dropped first. A plan is
// also dropped if a GPU or the host refuses memory that another object of the library needs. A
// forked process starts with an empty cache.

#include <optional>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Bytes that the cache of plans may hold.
struct PlanCacheLimits {
    index_t host_bytes = 0;  ///< bytes of host memory
    index_t gpu_bytes = 0;   ///< bytes of the memory of all GPUs together
    friend bool operator==(const PlanCacheLimits&, const PlanCacheLimits&) = default;
};

/// Content of the cache of plans.
struct PlanCacheInfo {
    index_t plans = 0;
    /// Bytes that the plans take at most. They take them when they are first used.
    index_t host_bytes = 0;
    index_t gpu_bytes = 0;  ///< likewise, in the memory of GPUs
    PlanCacheLimits limits;
    index_t hits = 0;    ///< number of calls that found their plan
    index_t misses = 0;  ///< number of calls that had to plan
};

/// Returns the content of the cache.
/// @code{.cpp}
/// Volume image({16, 64, 64}, PixelType::float32), kernel({3, 3, 3}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 27, 1 / 27.0F);
/// clear_plan_cache();
/// convolve(image.view(), kernel.view());
/// convolve(image.view(), kernel.view());  // finds the plan of the first call
/// assert(plan_cache_info().plans == 1);
/// @endcode
CONVOLUME_API PlanCacheInfo plan_cache_info();

/// Sets the limits of the memory of the host and of all GPUs together, and drops plans that exceed
/// them. A limit that is not given stays as it is. With limits of 0, no plan is kept. By default,
/// the cache holds an eighth of the host memory that is available at its first use, and a quarter
/// of the memory of one GPU. Throws InvalidArgument for negative limits.
CONVOLUME_API void limit_plan_cache(const std::optional<index_t>& host_bytes,
                                    const std::optional<index_t>& gpu_bytes = {});

/// Drops all plans, and frees the page-locked memory that is kept for transfers to GPUs. Plans
/// that are in use are freed when their execution ends.
CONVOLUME_API void clear_plan_cache();

}  // namespace convolume
