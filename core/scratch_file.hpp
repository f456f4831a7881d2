// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file for the time of an execution.

#include <string>

#include "convolume/scratch_image.hpp"

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

/// One volume in a scratch file.
class ScratchVolume : public ScratchImage {
  public:
    ScratchVolume(const std::string& directory, const Shape3& shape, PixelType type)
        : ScratchImage({shape, type}, Place::file, directory) {}
};

}  // namespace convolume
