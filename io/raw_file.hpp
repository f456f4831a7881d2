// SPDX-License-Identifier: Apache-2.0
#pragma once
// A regular file that several threads may read at any position.

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Identity, size and modification time of a file, which reveal a later change.
struct FileState {
    std::pair<std::uint64_t, std::uint64_t> identity;  ///< device and inode number
    index_t bytes = 0;
    std::timespec modified{};
};

class RawFile {
  public:
    /// Opens the file. Throws InputNotFound if it cannot be opened, BadData if it is empty.
    explicit RawFile(const std::string& path);
    /// Takes an open file, which it closes. `path` names it in messages. Throws BadData if it is
    /// empty.
    RawFile(int descriptor, const std::string& path);
    ~RawFile();
    RawFile(const RawFile&) = delete;
    RawFile& operator=(const RawFile&) = delete;

    const std::string& path() const { return path_; }
    index_t size() const { return size_; }

    /// Reads from `offset` on. Throws BadData beyond the end of the file, IoError if the read
    /// fails.
    void read(index_t offset, void* target, index_t bytes) const;
    /// Returns the first `bytes` bytes of the file, or the whole file if it is shorter.
    std::string head(index_t bytes) const;
    /// Throws IoError if the file was written or truncated since it was opened.
    void check_unchanged() const;
    /// Returns the state of the file when it was opened.
    FileState state() const { return {identity_, size_, modified_}; }
    /// Throws IoError unless the state of this file equals `state`, which was recorded earlier.
    void check_state(const FileState& state) const;

    /// Returns the device and inode number, which do not depend on the file's name.
    const std::pair<std::uint64_t, std::uint64_t>& identity() const { return identity_; }
    /// Takes a shared lock on the file until it is closed. Returns false if another process holds
    /// an exclusive lock, since it writes the file.
    bool lock_shared() const;

  private:
    /// Records the state of the open file. Returns whether it has any bytes.
    bool record_state();

    std::string path_;
    int descriptor_ = -1;
    index_t size_ = 0;
    std::timespec modified_{};
    std::pair<std::uint64_t, std::uint64_t> identity_;
};

}  // namespace convolume::io
