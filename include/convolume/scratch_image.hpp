// SPDX-License-Identifier: Apache-2.0
#pragma once
// An image between two steps of a program: one writes it, the next one reads it.

#include <memory>
#include <string>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"

namespace convolume {

class ScratchFile;

/// Holds an image until the object is destroyed, in memory or in a file without a name. The system
/// frees the file's space however the process ends. The constructor takes the whole size, so that
/// neither memory nor disk runs out later. Several threads may read and write boxes at once.
/// @code{.cpp}
/// ScratchImage between({{32, 64, 64}, PixelType::float32}, ScratchImage::Place::file);
/// Volume image({32, 64, 64}, PixelType::float32), kernel({3, 3, 3}, PixelType::float32);
/// kernel.elements<float>()[13] = 1;
/// const Convolver blur(image.shape(), kernel.view());
/// ViewSource source(image.view());
/// ViewSink sink(image.view());
/// blur.execute(source, between);
/// blur.execute(between, sink);
/// @endcode
class CONVOLUME_API ScratchImage : public ImageSource, public ImageSink {
  public:
    /// Storage that holds the samples.
    enum class Place { memory, file };

    /// Takes the memory, or the space of a file in `directory`. If that is empty, the file is in
    /// the system's temporary folder. Throws OutOfMemory, IoError (no space) or CannotCreate.
    ScratchImage(const StackFormat& format, Place place, const std::string& directory = {});
    ~ScratchImage() override;

    StackFormat format() const override { return format_; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    index_t volume_bytes() const;
    /// Returns the offset in bytes of a volume's first sample, in memory or in the file.
    index_t offset(index_t t, index_t c) const;
    ImageView in_memory(index_t t, index_t c, const Box3& box) const;

    StackFormat format_;
    Buffer memory_;
    std::unique_ptr<ScratchFile> file_;
};

}  // namespace convolume
