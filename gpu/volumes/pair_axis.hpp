// SPDX-License-Identifier: Apache-2.0
#pragma once
// An axis of an object and its image (core/pair_axis.hpp), whose planes lie in slots of a ring.

#include <array>

#include "core/pair_axis.hpp"
#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

using Range = IndexRange;

struct PairAxis : convolume::PairAxis {
    // Where samples lie, the first of the range in `slot` of `ring`.
    PositionMap object_map(const Range& range, index_t slot, index_t ring) const {
        return map(range.begin, range.count(), slot, ring);
    }
    PositionMap image_map(const Range& range, index_t slot, index_t ring) const {
        return map(range.begin + shift, range.count(), slot, ring);
    }

  private:
    PositionMap map(index_t position, index_t count, index_t slot, index_t ring) const {
        return {(position % grid + grid) % grid, count, (slot % ring + ring) % ring, ring};
    }
};

using PairAxes = std::array<PairAxis, 3>;  // z, y, x

}  // namespace convolume::gpu
