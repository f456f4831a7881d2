// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over the volumes, boxes or plane groups of an image, with reading and writing beside
// computation.

#include <algorithm>
#include <functional>
#include <vector>

#include "cli/files/selected_image.hpp"
#include "cli/run/progress.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"
#include "convolume/volume.hpp"
#include "core/item_steps.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

/// Computes one volume of an image from a source to a sink of one volume each.
using VolumeStep = std::function<void(ImageSource&, ImageSink&, const ExecutionContext&)>;

/// Calls `compute` for every volume. If it throws BadData, the error gets the volume and the place
/// of the sample in the file. With `overlapped`, the next volume is read to memory and the last one
/// written from memory while one is computed. Two inputs and two outputs are then in memory.
/// Without it, sources and sinks are those of the files.
void for_each_volume(SelectedImage& reader, ImageSink& sink, bool overlapped,
                     const ExecutionContext& context, const VolumeStep& compute);

/// Boxes of about `bytes` bytes that divide the volumes of an image: rows of a plane, or whole
/// planes. They consist of whole pieces, unless a piece is larger.
class ImageBoxes {
  public:
    ImageBoxes(const StackFormat& image, index_t sample_bytes, index_t bytes);

    index_t count() const { return per_volume_ * image_.volumes(); }
    /// Returns the extents of the largest box.
    const Shape3& shape() const { return shape_; }
    index_t t(index_t box) const { return box / per_volume_ / image_.channels; }
    index_t c(index_t box) const { return box / per_volume_ % image_.channels; }
    Box3 at(index_t box) const;

  private:
    StackFormat image_;
    Shape3 shape_;
    index_t along_y_, per_volume_;
};

/// Reads every box of `source`, calls compute(input, output) and writes the output to `sink`, an
/// image of the same extents. Boxes have about `bytes` bytes; two inputs and two outputs are in
/// memory. The next box is read and the previous one is written while one is computed.
void for_each_box(
    ImageSource& source, ImageSink& sink, index_t bytes, const ExecutionContext& context,
    const std::function<void(const ConstImageView& input, const ImageView& output)>& compute);

/// Returns figure(row) of every row, in their order. `row` points to the first sample, of type T.
/// Further samples follow at distances of image.strides.x. Up to `threads` threads share the rows.
template <class T, class Figure>
auto figures_of_rows(const ConstImageView& image, int threads, Figure&& figure) {
    const index_t height = image.shape.y;
    const index_t rows = image.shape.z * height;
    std::vector<decltype(figure(static_cast<const T*>(nullptr)))> figures(
        static_cast<std::size_t>(rows));
    parallel_for(rows, threads, [&](index_t row, int) {
        figures[static_cast<std::size_t>(row)] =
            figure(static_cast<const T*>(image.at(row / height, row % height, 0)));
    });
    return figures;
}

/// Calls use(planes, z_begin) for all groups of planes of channel c at time t, in order.
template <class Use>
void for_each_plane_group(io::ImageReader& reader, index_t t, index_t c, Use&& use) {
    constexpr index_t plane_group_bytes = index_t{64} << 20;
    const io::ImageMetadata& metadata = reader.metadata();
    const Shape3 shape = metadata.shape;
    const index_t plane_bytes = checked_multiply(checked_multiply(shape.y, shape.x),
                                                 static_cast<index_t>(size_of(metadata.type)));
    const index_t together = std::clamp<index_t>(plane_group_bytes / plane_bytes, 1, shape.z);
    Volume group({together, shape.y, shape.x}, metadata.type);
    for (index_t z = 0; z < shape.z; z += together) {
        const index_t count = std::min(together, shape.z - z);
        const ImageView view = subview(group.view(), {{0, 0, 0}, {count, shape.y, shape.x}});
        reader.read_planes(t, c, z, view);
        use(ConstImageView(view), z);
    }
    reader.check_unchanged();
}

}  // namespace convolume::cli
