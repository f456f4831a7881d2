// SPDX-License-Identifier: Apache-2.0
#include "cli/files/volumes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace convolume::cli {

namespace {

/// Throws `error` again. If the file has several volumes, the message names frame and channel.
[[noreturn]] void throw_with_place(const BadData& error, const NonfiniteSample::Location& in_file) {
    if (!in_file.of_several) throw BadData(error);
    throw BadData(message("in frame ", in_file.frame, ", channel ", in_file.channel,
                          " (from 0): ", error.what()));
}

/// Memory for the volumes that are in flight: volume i is at index i modulo 2.
class VolumeSlots {
  public:
    explicit VolumeSlots(const StackFormat& format) : format_(format) {}
    Volume& operator[](index_t item) {
        Volume& volume = volumes_[static_cast<std::size_t>(item % 2)];
        if (volume.shape() != format_.shape) volume = Volume(format_.shape, format_.type);
        return volume;
    }

  private:
    StackFormat format_;
    std::array<Volume, 2> volumes_;
};

}  // namespace

void for_each_volume(SelectedImage& reader, ImageSink& sink, bool overlapped,
                     const ExecutionContext& context, const VolumeStep& compute) {
    const index_t channels = reader.format().channels, count = reader.format().volumes();
    const bool in_memory = overlapped && count > 1;
    VolumeSlots inputs(reader.format()), outputs(sink.format());
    // The first volume is computed while it is read, and the last one while it is written.
    const auto reads_ahead = [&](index_t item) { return in_memory && item > 0; };
    const auto writes_behind = [&](index_t item) { return in_memory && item < count - 1; };
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        if (!reads_ahead(item)) return;
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, inputs[item].bytes());
        reader.read(item / channels, item % channels, inputs[item].view());
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        const index_t t = item / channels, c = item % channels;
        try {
            SourceChannel file(reader, c, t);
            SinkChannel written(sink, c, t);
            std::optional<ViewSource> read;
            std::optional<ViewSink> kept;
            if (reads_ahead(item)) read.emplace(std::as_const(inputs[item]).view());
            if (writes_behind(item)) kept.emplace(outputs[item].view());
            compute(read ? static_cast<ImageSource&>(*read) : file,
                    kept ? static_cast<ImageSink&>(*kept) : written, part_of(context, item, count));
        } catch (const NonfiniteSample& error) {
            throw error.at(reader.place_in_file({error.place().index, t, c}));
        } catch (const BadData& error) {
            throw_with_place(error, reader.place_in_file({{}, t, c}));
        }
    };
    steps.write = [&](index_t item) {
        if (!writes_behind(item)) return;
        const Volume& output = outputs[item];
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
        sink.write_box(item / channels, item % channels, {{0, 0, 0}, output.shape()},
                       output.view());
    };
    run_item_steps(count, in_memory, steps);
    reader.check_unchanged();
}

ImageBoxes::ImageBoxes(const StackFormat& image, index_t sample_bytes, index_t bytes)
    : image_(image) {
    const index_t row = checked_multiply(image.shape.x, sample_bytes);
    const auto fitting = [](index_t most, index_t piece, index_t extent) {
        return std::min(std::max<index_t>(most / piece, 1) * piece, extent);
    };
    const bool whole = checked_multiply(row, image.piece.z * image.piece.y) <= bytes;
    const Shape3 piece = whole ? image.piece : Shape3{1, 1, 1};
    shape_ = {piece.z, 0, image.shape.x};
    shape_.y = fitting(bytes / checked_multiply(row, shape_.z), piece.y, image.shape.y);
    if (shape_.y == image.shape.y)
        shape_.z = fitting(bytes / checked_multiply(row, shape_.y), piece.z, image.shape.z);
    along_y_ = ceil_div(image.shape.y, shape_.y);
    per_volume_ = along_y_ * ceil_div(image.shape.z, shape_.z);
}

Box3 ImageBoxes::at(index_t box) const {
    const index_t z = box % per_volume_ / along_y_ * shape_.z, y = box % along_y_ * shape_.y;
    return {
        {z, y, 0},
        {std::min(z + shape_.z, image_.shape.z), std::min(y + shape_.y, image_.shape.y), shape_.x}};
}

void for_each_box(ImageSource& source, ImageSink& sink, index_t bytes,
                  const ExecutionContext& context,
                  const std::function<void(const ConstImageView&, const ImageView&)>& compute) {
    const StackFormat read = source.format();
    StackFormat written = sink.format();
    const auto bytes_of = [](const StackFormat& image) {
        return static_cast<index_t>(size_of(image.type));
    };
    for (int axis = 0; axis < 3; ++axis)
        written.piece[axis] = std::max(written.piece[axis], read.piece[axis]);
    const ImageBoxes boxes(written, std::max(bytes_of(read), bytes_of(written)), bytes);
    std::vector<Volume> inputs, outputs;
    for (int slot = 0; slot < 2; ++slot) {
        inputs.emplace_back(boxes.shape(), read.type);
        outputs.emplace_back(boxes.shape(), written.type);
    }
    const auto view_of_box = [&](std::vector<Volume>& volumes, index_t item) {
        Volume& volume = volumes[static_cast<std::size_t>(item % 2)];
        const Shape3 shape = boxes.at(item).shape();
        return ImageView{volume.view().data, volume.type(), shape, contiguous_strides(shape)};
    };
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        const ImageView view = view_of_box(inputs, item);
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1,
                               element_count(view.shape) * bytes_of(read));
        source.read_box(boxes.t(item), boxes.c(item), boxes.at(item), view);
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        compute(view_of_box(inputs, item), view_of_box(outputs, item));
    };
    steps.write = [&](index_t item) {
        const ImageView view = view_of_box(outputs, item);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1,
                               element_count(view.shape) * bytes_of(written));
        sink.write_box(boxes.t(item), boxes.c(item), boxes.at(item), view);
        if (context.progress)
            context.progress(static_cast<double>(item + 1) / static_cast<double>(boxes.count()));
    };
    run_item_steps(boxes.count(), true, steps);
}

}  // namespace convolume::cli
