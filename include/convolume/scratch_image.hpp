// SPDX-License-Identifier: Apache-2.0
#pragma once
// An image between two steps: written once, then read.

#include <memory>
#include <string>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"

namespace convolume {

class ScratchFile;

/// Holds an image until the object goes, in memory or in a file that nobody else sees. The system
/// frees the file's space however the process ends. The whole size is taken at the beginning, so
/// that neither memory nor disk runs out later. Boxes may be read and written by several threads at
/// once.
class CONVOLUME_API ScratchImage : public ImageSource, public ImageSink {
  public:
    enum class Place { memory, file };

    /// The file lies in `directory`; empty: the system's directory for temporary files. Throws
    /// OutOfMemory, IoError (no space) or CannotCreate.
    ScratchImage(const StackFormat& format, Place place, const std::string& directory = {});
    ~ScratchImage() override;

    StackFormat format() const override { return format_; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    index_t volume_bytes() const;
    /// Where the volume's first sample is, in memory or in the file.
    index_t offset(index_t t, index_t c) const;
    ImageView in_memory(index_t t, index_t c, const Box3& box) const;

    StackFormat format_;
    Buffer memory_;
    std::unique_ptr<ScratchFile> file_;
};

}  // namespace convolume
