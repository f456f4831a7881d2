// SPDX-License-Identifier: Apache-2.0
#pragma once
// One channel of a source or sink, at all times, as an image of its own.

#include "convolume/image_stream.hpp"

namespace convolume::cli {

inline StackFormat format_of_one_channel(StackFormat format) {
    format.channels = 1;
    return format;
}

class SourceChannel : public ImageSource {
  public:
    SourceChannel(ImageSource& source, index_t channel) : source_(source), channel_(channel) {}

    StackFormat format() const override { return format_of_one_channel(source_.format()); }
    void read_box(index_t t, index_t, const Box3& box, const ImageView& target) override {
        source_.read_box(t, channel_, box, target);
    }

  private:
    ImageSource& source_;
    index_t channel_;
};

class SinkChannel : public ImageSink {
  public:
    SinkChannel(ImageSink& sink, index_t channel) : sink_(sink), channel_(channel) {}

    StackFormat format() const override { return format_of_one_channel(sink_.format()); }
    void write_box(index_t t, index_t, const Box3& box, const ConstImageView& source) override {
        sink_.write_box(t, channel_, box, source);
    }

  private:
    ImageSink& sink_;
    index_t channel_;
};

}  // namespace convolume::cli
