// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images that are read and written box by box and need not fit memory: files, stores on a network,
// cameras. Axes are always t, c, z, y, x.

#include <optional>

#include "convolume/image_view.hpp"

namespace convolume {

/// What a source gives and a sink takes: frames × channels volumes of one shape and type.
struct StackFormat {
    Shape3 shape;  ///< z, y, x of one channel at one time
    PixelType type = PixelType::float32;
    index_t frames = 1;    ///< t
    index_t channels = 1;  ///< c
    /// What is stored as one piece (strip, tile, chunk): boxes of whole pieces are read and written
    /// fastest. {1, 1, 1} where it does not matter.
    Shape3 piece{1, 1, 1};

    index_t volumes() const { return checked_multiply(frames, channels); }
    /// Of all samples.
    index_t bytes() const {
        return checked_multiply(checked_multiply(element_count(shape), volumes()),
                                static_cast<index_t>(size_of(type)));
    }
};

/// Where an image comes from.
class CONVOLUME_API ImageSource {
  public:
    ImageSource() = default;
    ImageSource(const ImageSource&) = delete;
    ImageSource& operator=(const ImageSource&) = delete;
    virtual ~ImageSource();

    /// The same at every call.
    virtual StackFormat format() const = 0;

    /// Reads the samples in `box` of channel c at time t. `target` has the box's shape, the
    /// format's type, and any strides. Is called by several threads at once, for boxes in any
    /// order; boxes may overlap. What it throws ends the execution and reaches the caller.
    virtual void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) = 0;
};

/// Where a result goes.
class CONVOLUME_API ImageSink {
  public:
    ImageSink() = default;
    ImageSink(const ImageSink&) = delete;
    ImageSink& operator=(const ImageSink&) = delete;
    virtual ~ImageSink();

    /// The same at every call.
    virtual StackFormat format() const = 0;

    /// Takes the samples in `box` of channel c at time t. `source` has the box's shape, the
    /// format's type, and any strides; it is gone when the call returns. Is called by several
    /// threads at once, for boxes in any order; every sample is given once. What it throws ends
    /// the execution and reaches the caller.
    virtual void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) = 0;
};

/// An image in memory as a source: one channel at one time.
class CONVOLUME_API ViewSource : public ImageSource {
  public:
    explicit ViewSource(const ConstImageView& view) : view_(view) {}
    StackFormat format() const override { return {view_.shape, view_.type}; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ConstImageView view_;
};

/// An image in memory as a sink: one channel at one time.
class CONVOLUME_API ViewSink : public ImageSink {
  public:
    explicit ViewSink(const ImageView& view) : view_(view) {}
    StackFormat format() const override { return {view_.shape, view_.type}; }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    ImageView view_;
};

/// One channel of a source, at all times or at one, as a source of its own.
class CONVOLUME_API SourceChannel : public ImageSource {
  public:
    SourceChannel(ImageSource& source, index_t channel, std::optional<index_t> frame = {})
        : source_(source), channel_(channel), frame_(frame) {}
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ImageSource& source_;
    index_t channel_;
    std::optional<index_t> frame_;
};

/// One channel of a sink, at all times or at one, as a sink of its own.
class CONVOLUME_API SinkChannel : public ImageSink {
  public:
    SinkChannel(ImageSink& sink, index_t channel, std::optional<index_t> frame = {})
        : sink_(sink), channel_(channel), frame_(frame) {}
    StackFormat format() const override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    ImageSink& sink_;
    index_t channel_;
    std::optional<index_t> frame_;
};

/// Throws InvalidArgument where the format has no such volume, `box` leaves its shape, or `view`
/// has not the box's shape or the format's type: what sources and sinks check first.
CONVOLUME_API void check_box(const StackFormat& format, index_t t, index_t c, const Box3& box,
                             const ConstImageView& view);

}  // namespace convolume
