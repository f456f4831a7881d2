// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes and planes of a volume as float32, a few planes at a time.

#include <algorithm>
#include <array>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"
#include "core/item_steps.hpp"
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

/// Returns the bytes that a plane of an image takes in for_each_band(): as it is read, for the next
/// group, too, and as float32.
inline index_t plane_bytes_in_band(const StackFormat& format) {
    const auto sample = static_cast<index_t>(2 * size_of(format.type) + sizeof(float));
    return checked_multiply(sample, format.shape.y * format.shape.x);
}

/// Calls use(first, planes) for groups of consecutive planes of a volume, from the first on.
/// `planes` is a float32 view in C order, which may be changed. Another thread reads the next group
/// meanwhile. Groups take at most `most_bytes`, or hold one plane.
template <class Use>
void for_each_band(ImageSource& image, index_t t, index_t c, index_t most_bytes, const Use& use) {
    const StackFormat format = image.format();
    const Shape3& shape = format.shape;
    const index_t at_once =
        std::clamp<index_t>(most_bytes / plane_bytes_in_band(format), 1, shape.z);
    const index_t count = ceil_div(shape.z, at_once);
    std::array<Volume, 2> samples;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, static_cast<std::size_t>(count)); ++i)
        samples[i] = Volume({at_once, shape.y, shape.x}, format.type);
    Volume planes(samples[0].shape(), PixelType::float32);
    const auto box_of = [&](index_t i) {
        return Box3{{i * at_once, 0, 0}, {std::min((i + 1) * at_once, shape.z), shape.y, shape.x}};
    };
    const auto part_of = [&](Volume& volume, index_t i) {
        return subview(volume.view(), {{0, 0, 0}, box_of(i).shape()});
    };
    const auto sample_of = [&](index_t i) {
        return part_of(samples[static_cast<std::size_t>(i % 2)], i);
    };
    const StopScope* const scope = current_stop_scope();
    ItemSteps steps;
    steps.read = [&](index_t i) {
        const AdoptedStopScope adopted(scope);
        image.read_box(t, c, box_of(i), sample_of(i));
    };
    steps.compute = [&](index_t i) {
        throw_if_stopped();
        convert_pixels(sample_of(i), part_of(planes, i), 0);
        use(i * at_once, part_of(planes, i));
    };
    run_item_steps(count, true, steps);
}

inline Plane plane_of(const ConstImageView& planes, index_t k) {
    return {static_cast<const float*>(planes.at(k, 0, 0)), planes.shape.y, planes.shape.x};
}

}  // namespace convolume::deconvolve
