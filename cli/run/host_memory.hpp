// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host memory of a run, and where an image goes that lies between two of its steps.

#include <optional>

#include "convolume/error.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

/// What --max-host-mem says, else three quarters of what is free now.
index_t host_limit_bytes(const std::optional<index_t>& asked);

/// Bytes of all samples.
index_t bytes_of(const StackFormat& format);

/// Plans by `plan(limit)` for a run that also holds an image of `bytes`, and says where that goes:
/// to memory, if it takes at most a quarter of the limit and the plan makes do with the rest, else
/// to a file, and the plan has the whole limit. Throws what `plan` throws.
template <class Plan>
ScratchImage::Place plan_beside(index_t bytes, const std::optional<index_t>& asked, Plan&& plan) {
    if (const index_t limit = host_limit_bytes(asked); bytes <= limit / 4) {
        try {
            plan(std::optional<index_t>(limit - bytes));
            return ScratchImage::Place::memory;
        } catch (const OutOfMemory&) {
            // There may be a plan with the whole limit.
        }
    }
    plan(asked);
    return ScratchImage::Place::file;
}

}  // namespace convolume::cli
