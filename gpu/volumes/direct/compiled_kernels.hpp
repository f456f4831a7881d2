// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled kernels of sums in space.

#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

struct DirectKernel {
    /// Takes a DirectJob with ConstantTaps where the layout says so, else with GlobalTaps.
    const void* kernel = nullptr;
    index_t shared_bytes = 0;  ///< beside the totals of tap groups
};
template <class T>
DirectKernel direct_kernel_for(const TapLayout& layout);

}  // namespace convolume::gpu
