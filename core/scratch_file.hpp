// SPDX-License-Identifier: Apache-2.0
#pragma once
// Temporary files of an execution.

#include <string>

#include "convolume/scratch_image.hpp"

namespace convolume {

/// A file without a name. The system frees its space when the file is closed, however the process
/// ends. The whole size is allocated at once, so that the disk cannot fill up later.
class ScratchFile {
  public:
    /// Makes a file in `directory`; empty: the system's directory for temporary files. Throws
    /// IoError or CannotCreate.
    ScratchFile(const std::string& directory, index_t bytes);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    void read(index_t offset, void* target, index_t bytes) const;
    void write(index_t offset, const void* source, index_t bytes);
    void sync();  ///< returns when all data are on disk
    /// Maps the first `bytes` to memory until system::unmap_file(), also beyond the end of this
    /// object. Throws OutOfMemory if the system refuses.
    void* map(index_t bytes);

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
