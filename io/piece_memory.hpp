// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for many pieces of one size: the system's own up to a limit, beyond it that of a file,
// which the system moves to disk where memory is short.

#include <memory>
#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::io {

class PieceMemory {
  public:
    /// `folder` is where the file, which has no name, is made when it is needed.
    PieceMemory(std::string folder, index_t piece_bytes, index_t most_bytes);
    ~PieceMemory();
    PieceMemory(const PieceMemory&) = delete;
    PieceMemory& operator=(const PieceMemory&) = delete;

    /// Throws IoError when there is no space for the file. Not to be called by two threads at once;
    /// the same holds for give_back().
    char* take();
    void give_back(char* piece);

    /// Bytes of pieces taken and not given back.
    index_t used_bytes() const { return used_pieces_ * piece_bytes_; }
    /// Bytes of the file.
    index_t file_bytes() const { return static_cast<index_t>(mapped_.size()) * mapping_bytes_; }

  private:
    void add_mapping();

    std::string folder_;
    index_t piece_bytes_;
    index_t most_own_;       // pieces
    index_t mapping_bytes_;  // whole pieces, whole pages
    index_t used_pieces_ = 0;
    std::vector<std::unique_ptr<char[]>> own_;
    std::vector<void*> mapped_;
    std::vector<char*> free_;
    int descriptor_ = -1;
};

}  // namespace convolume::io
