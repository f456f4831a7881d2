// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images that are read and written box by box and need not fit memory, such as files, network
// stores and cameras. Axes are always t, c, z, y, x.

#include <optional>

#include "convolume/image_view.hpp"

namespace convolume {

/// Extents and type of the image of a source or sink: frames × channels volumes of one shape and
/// type.
struct StackFormat {
    Shape3 shape;  ///< extents along z, y, x of one channel at one time
    PixelType type = PixelType::float32;
    index_t frames = 1;    ///< number of times: extent along t
    index_t channels = 1;  ///< number of channels: extent along c
    /// Shape of a piece: the samples that are stored together, such as a TIFF strip, a TIFF tile or
    /// an HDF5 chunk. Boxes of whole pieces are read and written fastest. {1, 1, 1} if each sample
    /// is stored alone.
    Shape3 piece{1, 1, 1};

    /// Returns the number of volumes: channels × times.
    index_t volumes() const { return checked_multiply(frames, channels); }
    /// Returns the bytes of all samples. Throws InvalidArgument beyond 64 bits.
    index_t bytes() const {
        return checked_multiply(checked_multiply(element_count(shape), volumes()),
                                static_cast<index_t>(size_of(type)));
    }
};

/// An image that is read box by box. Derive from it to convolve images of your own.
/// @code{.cpp}
/// class Ramp : public ImageSource {
///   public:
///     StackFormat format() const override { return {{32, 64, 64}, PixelType::float32}; }
///     void read_box(index_t, index_t, const Box3& box, const ImageView& target) override {
///         for (index_t z = 0; z < target.shape.z; ++z)
///             for (index_t y = 0; y < target.shape.y; ++y)
///                 for (index_t x = 0; x < target.shape.x; ++x)
///                     *static_cast<float*>(target.at(z, y, x)) = float(box.begin.x + x);
///     }
/// };
/// Ramp image;
/// Volume planes({2, 64, 64}, PixelType::float32);
/// image.read_box(0, 0, {{4, 0, 0}, {6, 64, 64}}, planes.view());
/// @endcode
class CONVOLUME_API ImageSource {
  public:
    ImageSource() = default;
    ImageSource(const ImageSource&) = delete;
    ImageSource& operator=(const ImageSource&) = delete;
    virtual ~ImageSource();

    /// Returns the extents and the type, which never change.
    virtual StackFormat format() const = 0;

    /// Reads the samples in `box` of channel c at time t. `target` has the box's shape, the
    /// format's type, and any strides. Several threads call this at once, for boxes in any order;
    /// boxes may overlap. An exception ends the execution and reaches the caller.
    virtual void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) = 0;
};

/// An image that is written box by box. Derive from it to take results without holding them.
/// @code{.cpp}
/// class Maximum : public ImageSink {
///   public:
///     StackFormat format() const override { return {{32, 64, 64}, PixelType::float32}; }
///     void write_box(index_t, index_t, const Box3&, const ConstImageView& source) override {
///         const std::lock_guard lock(mutex);
///         for_each_magnitude(source, [&](double value, Index3) { most = std::max(most, value); });
///     }
///     std::mutex mutex;
///     double most = 0;
/// };
/// Volume image({32, 64, 64}, PixelType::float32), kernel({1, 1, 1}, PixelType::float32);
/// image.elements<float>()[7] = kernel.elements<float>()[0] = 3;
/// ViewSource source(image.view());
/// Maximum maximum;
/// Convolver(image.shape(), kernel.view()).execute(source, maximum);
/// assert(std::abs(maximum.most - 9) < 1e-4);
/// @endcode
class CONVOLUME_API ImageSink {
  public:
    ImageSink() = default;
    ImageSink(const ImageSink&) = delete;
    ImageSink& operator=(const ImageSink&) = delete;
    virtual ~ImageSink();

    /// Returns the extents and the type, which never change.
    virtual StackFormat format() const = 0;

    /// Takes the samples in `box` of channel c at time t. `source` has the box's shape, the
    /// format's type, and any strides; it is only valid during the call. Several threads call this
    /// at once, for boxes in any order; every sample is given once. An exception ends the execution
    /// and reaches the caller.
    virtual void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) = 0;
};

/// An image in memory as a source of one channel at one time. The memory must outlive it.
/// @code{.cpp}
/// const Volume image({8, 16, 16}, PixelType::uint8);
/// ViewSource source(image.view());
/// assert(source.format().bytes() == image.bytes());
/// @endcode
class CONVOLUME_API ViewSource : public ImageSource {
  public:
    explicit ViewSource(const ConstImageView& view) : view_(view) {}
    StackFormat format() const override { return {view_.shape, view_.type}; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ConstImageView view_;
};

/// An image in memory as a sink of one channel at one time. The memory must outlive it.
/// @code{.cpp}
/// Volume copy({8, 16, 16}, PixelType::uint8);
/// const Volume plane({1, 16, 16}, PixelType::uint8);
/// ViewSink sink(copy.view());
/// sink.write_box(0, 0, {{3, 0, 0}, {4, 16, 16}}, plane.view());
/// @endcode
class CONVOLUME_API ViewSink : public ImageSink {
  public:
    explicit ViewSink(const ImageView& view) : view_(view) {}
    StackFormat format() const override { return {view_.shape, view_.type}; }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    ImageView view_;
};

/// One channel of a source, at all times or at one, as a source with one channel. The other source
/// must outlive it.
/// @code{.cpp}
/// ScratchImage image({{4, 32, 32}, PixelType::uint16, 3, 2}, ScratchImage::Place::memory);
/// SourceChannel second(image, 1);
/// SourceChannel second_at_start(image, 1, 0);
/// assert(second.format().volumes() == 3 && second_at_start.format().volumes() == 1);
/// @endcode
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

/// One channel of a sink, at all times or at one, as a sink with one channel. The other sink must
/// outlive it.
/// @code{.cpp}
/// ScratchImage stored({{4, 32, 32}, PixelType::float32, 1, 2}, ScratchImage::Place::memory);
/// const Volume image({4, 32, 32}, PixelType::float32);
/// SinkChannel second(stored, 1);
/// second.write_box(0, 0, {{0, 0, 0}, image.shape()}, image.view());
/// @endcode
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

/// Checks the arguments of ImageSource::read_box() or ImageSink::write_box(). Throws
/// InvalidArgument if the format has no channel c or time t, or if `box` leaves its shape. It also
/// throws if `view` has not the shape of the box and the type of the format.
CONVOLUME_API void check_box(const StackFormat& format, index_t t, index_t c, const Box3& box,
                             const ConstImageView& view);

}  // namespace convolume
