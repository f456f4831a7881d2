// SPDX-License-Identifier: Apache-2.0
#pragma once
// A volume on disk for the time of an execution.

#include <string>

#include "convolume/image_stream.hpp"

namespace convolume {

/// A file without a name: the system frees its space when it is closed, however the process ends.
/// Its whole size is set aside when it is made, so that the disk is never full later.
class ScratchFile {
  public:
    /// In `directory`; empty: the system's directory for temporary files. Throws IoError or
    /// CannotCreate.
    ScratchFile(const std::string& directory, index_t bytes);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    void read(index_t offset, void* target, index_t bytes) const;
    void write(index_t offset, const void* source, index_t bytes);
    void sync();  ///< returns when all is on disk

  private:
    std::string directory_;
    int descriptor_ = -1;
};

/// A volume in a scratch file: written once, then read.
class ScratchVolume : public ImageSource, public ImageSink {
  public:
    ScratchVolume(const std::string& directory, const Shape3& shape, PixelType type);

    StackFormat format() const override { return {shape_, type_}; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

  private:
    /// Calls `use(offset in the file, z, y, rows)` for rows of the box that follow each other in
    /// the file and in `view`.
    template <class Use>
    void for_each_run(const Box3& box, const ConstImageView& view, const Use& use) const;

    Shape3 shape_;
    PixelType type_;
    ScratchFile file_;
};

}  // namespace convolume
