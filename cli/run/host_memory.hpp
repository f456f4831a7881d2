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

/// Plans by `plan(limit)` for a run that may also hold an image between two steps: with three
/// quarters of the limit, or with all of it where no plan makes do with that. Returns whether a
/// quarter is left. Throws what `plan` throws.
template <class Plan>
bool plan_beside_image(index_t limit, Plan&& plan) {
    try {
        plan(limit / 4 * 3);
        return true;
    } catch (const OutOfMemory&) {
        plan(limit);
        return false;
    }
}

/// Where that image goes: to memory if it fits the quarter that is left, else to a file.
ScratchImage::Place place_of_image(index_t bytes, index_t limit, bool quarter_left);

}  // namespace convolume::cli
