// SPDX-License-Identifier: Apache-2.0
#pragma once
// One axis of a convolution from an object to an image and of its adjoint: which samples depend on
// which. Object sample o is at position o of a transform. Image sample i is at position i + shift,
// modulo the length of the transform.

#include <algorithm>
#include <array>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// The samples begin … end-1 of an axis.
struct IndexRange {
    index_t begin = 0, end = 0;

    index_t count() const { return std::max<index_t>(end - begin, 0); }
    IndexRange within(const IndexRange& other) const {
        const index_t first = std::max(begin, other.begin);
        return {first, std::max(first, std::min(end, other.end))};
    }
};

/// Slots in which positions 0 … length-1 of a transform are stored. Position p is element
///     i = (p - begin) mod length
/// and is stored in slot (first + i) mod ring if i < count. Otherwise it is read as zero and not
/// written.
struct PositionMap {
    index_t begin = 0;
    index_t count = 0;
    index_t first = 0;
    index_t ring = 1;  ///< number of slots; count <= ring
};

/// Sizes of object, image and kernel along one axis. Image sample i is sample i + shift of the
/// object's full convolution with the taps. The object is 0 outside its extent.
struct PairAxis {
    index_t object = 1, image = 1, taps = 1, shift = 0, grid = 1;

    IndexRange whole_object() const { return {0, object}; }
    IndexRange whole_image() const { return {0, image}; }
    /// Returns the object samples whose light reaches samples of the image.
    IndexRange seen_by(const IndexRange& of_image) const {
        return IndexRange{of_image.begin + shift - (taps - 1), of_image.end + shift}.within(
            whole_object());
    }
    /// Returns the image samples that light of object samples reaches.
    IndexRange lit_by(const IndexRange& of_object) const {
        return IndexRange{of_object.begin - shift, of_object.end - shift + taps - 1}.within(
            whole_image());
    }
    /// Returns the taps through which light of any object sample reaches the image.
    IndexRange used_taps() const {
        return IndexRange{shift - (object - 1), shift + image}.within({0, taps});
    }

    /// Returns the least length of a transform without wrap-around. It computes image samples from
    /// the object samples that they see, and object samples from the image samples that they light.
    index_t least_grid(const IndexRange& of_image, const IndexRange& of_object) const {
        const IndexRange from = seen_by(of_image);
        const IndexRange light = lit_by(of_object);
        return std::max({index_t{1}, from.count(), from.end + taps - 1 - (of_image.begin + shift),
                         of_image.end + shift - from.begin, light.count(),
                         light.end + shift - of_object.begin,
                         of_object.end - (light.begin + shift) + taps - 1});
    }
    /// Returns the least length for the whole image and object.
    index_t least_grid() const { return least_grid(whole_image(), whole_object()); }

    /// Returns the slots of the samples of an object range; the first is in `slot` of `ring`
    /// slots.
    PositionMap object_map(const IndexRange& range, index_t slot, index_t ring) const {
        return {wrap(range.begin, grid), range.count(), wrap(slot, ring), ring};
    }
    PositionMap image_map(const IndexRange& range, index_t slot, index_t ring) const {
        return {wrap(range.begin + shift, grid), range.count(), wrap(slot, ring), ring};
    }

  private:
    static index_t wrap(index_t i, index_t n) { return (i % n + n) % n; }
};

using PairAxes = std::array<PairAxis, 3>;  // along z, y and x

/// Planes first … last of an array are equal and stored once, as plane first.
struct EqualPlanes {
    index_t first = 0, last = 0;
    /// Returns the stored plane that holds plane z.
    CONVOLUME_DEVICE index_t stored(index_t z) const {
        return z <= first ? z : z < last ? first : z - (last - first);
    }
};

}  // namespace convolume
