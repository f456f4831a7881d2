// SPDX-License-Identifier: Apache-2.0
#include "convolume/image_stream.hpp"

namespace convolume {

namespace {

StackFormat format_of_channel(StackFormat format, bool one_frame) {
    format.channels = 1;
    if (one_frame) format.frames = 1;
    return format;
}

}  // namespace

ImageSource::~ImageSource() = default;
ImageSink::~ImageSink() = default;

void check_box(const StackFormat& format, index_t t, index_t c, const Box3& box,
               const ConstImageView& view) {
    if (t < 0 || t >= format.frames || c < 0 || c >= format.channels)
        throw InvalidArgument(message("time ", t, ", channel ", c, " was asked of an image with ",
                                      format.frames, " times and ", format.channels, " channels"));
    if (view.type != format.type)
        throw InvalidArgument(message("samples of ", to_string(view.type),
                                      " were asked of an image of ", to_string(format.type)));
    for (int a = 0; a < 3; ++a)
        if (box.begin[a] < 0 || box.begin[a] > box.end[a] || box.end[a] > format.shape[a] ||
            box.end[a] - box.begin[a] != view.shape[a])
            throw InvalidArgument(message(
                "samples ", box.begin[a], " … ", box.end[a], " along ", axis_name(a), " as ",
                view.shape[a], " were asked of an image with ", format.shape[a], " samples"));
}

void ViewSource::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    check_box(format(), t, c, box, target);
    if (element_count(target.shape) > 0) convert_pixels(subview(view_, box), target);
}

void ViewSink::write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
    check_box(format(), t, c, box, source);
    if (element_count(source.shape) > 0) convert_pixels(source, subview(view_, box));
}

StackFormat SourceChannel::format() const {
    return format_of_channel(source_.format(), frame_.has_value());
}

void SourceChannel::read_box(index_t t, index_t, const Box3& box, const ImageView& target) {
    source_.read_box(frame_.value_or(t), channel_, box, target);
}

StackFormat SinkChannel::format() const {
    return format_of_channel(sink_.format(), frame_.has_value());
}

void SinkChannel::write_box(index_t t, index_t, const Box3& box, const ConstImageView& source) {
    sink_.write_box(frame_.value_or(t), channel_, box, source);
}

}  // namespace convolume
