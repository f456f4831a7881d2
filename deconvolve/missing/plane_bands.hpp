// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes and planes of a volume as float32, a few planes at a time.

#include <algorithm>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"
#include "core/stop_scope.hpp"

namespace convolume::deconvolve {

/// Reads a box of any source into a view of float32.
inline void read_as_float32(ImageSource& source, index_t t, index_t c, const Box3& box,
                            const ImageView& target) {
    const PixelType type = source.format().type;
    if (type == PixelType::float32) {
        source.read_box(t, c, box, target);
        return;
    }
    Volume samples(box.shape(), type);
    source.read_box(t, c, box, samples.view());
    convert_pixels(samples.view(), target);
}

/// A plane of float32 pixels in C order.
struct Plane {
    const float* pixels;
    index_t height, width;

    float at(index_t y, index_t x) const { return pixels[y * width + x]; }
    index_t count() const { return height * width; }
};

/// Returns the bytes that a plane of an image takes in for_each_band().
inline index_t plane_bytes_in_band(const StackFormat& format) {
    const auto sample = static_cast<index_t>(size_of(format.type) + sizeof(float));
    return checked_multiply(sample, format.shape.y * format.shape.x);
}

/// Calls use(first, planes) for groups of consecutive planes of a volume, from the first on.
/// `planes` is a float32 view in C order, which may be changed. Groups take at most `most_bytes`,
/// or hold one plane.
template <class Use>
void for_each_band(ImageSource& image, index_t t, index_t c, index_t most_bytes, const Use& use) {
    const StackFormat format = image.format();
    const Shape3& shape = format.shape;
    const index_t at_once =
        std::clamp<index_t>(most_bytes / plane_bytes_in_band(format), 1, shape.z);
    Volume samples({at_once, shape.y, shape.x}, format.type);
    Volume planes(samples.shape(), PixelType::float32);
    for (index_t z = 0; z < shape.z; z += at_once) {
        throw_if_stopped();
        const Box3 box{{z, 0, 0}, {std::min(z + at_once, shape.z), shape.y, shape.x}};
        const Box3 within{{0, 0, 0}, box.shape()};
        image.read_box(t, c, box, subview(samples.view(), within));
        convert_pixels(subview(samples.view(), within), subview(planes.view(), within), 0);
        use(z, subview(planes.view(), within));
    }
}

inline Plane plane_of(const ConstImageView& planes, index_t k) {
    return {static_cast<const float*>(planes.at(k, 0, 0)), planes.shape.y, planes.shape.x};
}

}  // namespace convolume::deconvolve
