// SPDX-License-Identifier: Apache-2.0
#pragma once
// One axis of a convolution from an object to an image and of its adjoint, and which planes of the
// one need which of the other. Object sample o stands at position o of a transform, image sample i
// at position i + shift, modulo its length.

#include <algorithm>

#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// Samples begin … end-1 of an axis.
struct Range {
    index_t begin = 0, end = 0;

    index_t count() const { return std::max<index_t>(end - begin, 0); }
    Range within(const Range& other) const {
        const index_t first = std::max(begin, other.begin);
        return {first, std::max(first, std::min(end, other.end))};
    }
};

/// Image sample i is sample i + shift of the object's full convolution with the taps; the object is
/// 0 outside.
struct PairAxis {
    index_t object = 1, image = 1, taps = 1, shift = 0, grid = 1;

    Range whole_object() const { return {0, object}; }
    Range whole_image() const { return {0, image}; }
    /// Object samples whose light meets samples of the image.
    Range seen_by(const Range& of_image) const {
        return Range{of_image.begin + shift - (taps - 1), of_image.end + shift}.within(
            whole_object());
    }
    /// Image samples that light of object samples meets.
    Range lit_by(const Range& of_object) const {
        return Range{of_object.begin - shift, of_object.end - shift + taps - 1}.within(
            whole_image());
    }

    /// A transform of so many samples makes image samples from those that they see, and the object
    /// samples back from those that they light, so that none meets the other end.
    index_t least_grid(const Range& of_image, const Range& of_object) const {
        const Range from = seen_by(of_image);
        const Range light = lit_by(of_object);
        return std::max({index_t{1}, from.count(), from.end + taps - 1 - (of_image.begin + shift),
                         of_image.end + shift - from.begin, light.count(),
                         light.end + shift - of_object.begin,
                         of_object.end - (light.begin + shift) + taps - 1});
    }
    /// Of everything at once.
    index_t least_grid() const { return least_grid(whole_image(), whole_object()); }

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

}  // namespace convolume::gpu
