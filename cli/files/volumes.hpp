// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over the volumes, boxes or plane groups of an image, with reading and writing beside
// computation.

#include <algorithm>
#include <functional>
#include <vector>

#include "cli/files/selected_image.hpp"
#include "cli/run/progress.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// The steps of items: each is called for item 0, 1, 2, … in this order. Empty ones are left out.
struct ItemSteps {
    std::function<void(index_t item)> read;
    std::function<void(index_t item)> compute;
    std::function<void(index_t item)> write;
};

/// Runs the steps of `count` items. The calling thread calls `compute`. With `overlapped`, other
/// threads read item i + 1 and write item i - 1 while item i is computed. At most two items are
/// then read and not computed, and two computed and not written, so that item i may use input and
/// output i % 2. Without it, one item is read, computed and written after the other.
///
/// Rethrows the exception of a step, the same one with and without `overlapped`. Steps that come
/// earlier without overlap are completed before, and later ones are not begun.
void run_item_steps(index_t count, bool overlapped, const ItemSteps& steps);

/// Throws `error` again. If the file has several volumes, the message names frame and channel.
[[noreturn]] inline void throw_with_place(const BadData& error,
                                          const NonfiniteSample::Location& in_file) {
    if (!in_file.of_several) throw BadData(error);
    throw BadData(message("in frame ", in_file.frame, ", channel ", in_file.channel,
                          " (from 0): ", error.what()));
}

/// Reads every volume, calls compute(input, output, context) and writes the output. If `compute`
/// throws BadData, the error gets the volume and the place of the sample in the file. With
/// `overlapped`, two inputs and two outputs are in memory, and the next volume is read and the
/// previous one is written while one is computed. Without it, one input and one output are.
template <class Compute>
void for_each_volume(SelectedImage& reader, ImageSink& sink, bool overlapped,
                     const ExecutionContext& context, Compute&& compute) {
    const io::ImageMetadata& read = reader.metadata();
    const StackFormat written = sink.format();
    const index_t count = checked_multiply(read.frames, read.channels);
    const index_t slots = overlapped ? std::min<index_t>(count, 2) : 1;
    std::vector<Volume> inputs, outputs;
    for (index_t slot = 0; slot < slots; ++slot) {
        inputs.emplace_back(read.shape, read.type);
        outputs.emplace_back(written.shape, written.type);
    }
    const auto slot_of = [&](std::vector<Volume>& volumes, index_t item) -> Volume& {
        return volumes[static_cast<std::size_t>(item % slots)];
    };
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        Volume& input = slot_of(inputs, item);
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, input.bytes());
        reader.read(item / read.channels, item % read.channels, input.view());
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        try {
            compute(ConstImageView(slot_of(inputs, item).view()), slot_of(outputs, item).view(),
                    part_of(context, item, count));
        } catch (const NonfiniteSample& error) {
            throw error.at(reader.place_in_file(
                {error.place().index, item / read.channels, item % read.channels}));
        } catch (const BadData& error) {
            throw_with_place(
                error, reader.place_in_file({{}, item / read.channels, item % read.channels}));
        }
    };
    steps.write = [&](index_t item) {
        const Volume& output = slot_of(outputs, item);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
        sink.write_box(item / read.channels, item % read.channels, {{0, 0, 0}, written.shape},
                       output.view());
    };
    run_item_steps(count, overlapped, steps);
    reader.check_unchanged();
}

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

/// Calls use(row) for every row with a pointer to its first sample, of type T. Further samples
/// follow at distances of image.strides.x.
template <class T, class Use>
void for_each_row(const ConstImageView& image, Use&& use) {
    for (index_t z = 0; z < image.shape.z; ++z)
        for (index_t y = 0; y < image.shape.y; ++y) use(static_cast<const T*>(image.at(z, y, 0)));
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
