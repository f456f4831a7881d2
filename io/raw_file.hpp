// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file opened for reading at any position, by any number of threads.

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Identity, size and time of modification of a file, by which a change is noticed.
struct FileState {
    std::pair<std::uint64_t, std::uint64_t> identity;  ///< device and number, whatever its name
    index_t bytes = 0;
    std::timespec modified{};
};

class RawFile {
  public:
    /// Throws InputNotFound, or BadData for an empty file.
    explicit RawFile(const std::string& path);
    ~RawFile();
    RawFile(const RawFile&) = delete;
    RawFile& operator=(const RawFile&) = delete;

    const std::string& path() const { return path_; }
    index_t size() const { return size_; }

    /// Throws BadData when the file ends before, IoError when the system cannot read.
    void read(index_t offset, void* target, index_t bytes) const;
    /// The first `bytes` of the file, or all of it.
    std::string head(index_t bytes) const;
    /// Throws IoError when the file was written or cut since it was opened.
    void check_unchanged() const;
    /// State of the file as it was opened.
    FileState state() const { return {identity_, size_, modified_}; }
    /// Throws IoError unless the file is as it was in an earlier `state`.
    void check_state(const FileState& state) const;

    /// Device and number of the file, whatever its name.
    const std::pair<std::uint64_t, std::uint64_t>& identity() const { return identity_; }
    /// Says to others that the file is being read, until it is closed. False where another process
    /// says that it writes it.
    bool lock_shared() const;

  private:
    std::string path_;
    int descriptor_ = -1;
    index_t size_ = 0;
    std::timespec modified_{};
    std::pair<std::uint64_t, std::uint64_t> identity_;
};

}  // namespace convolume::io
