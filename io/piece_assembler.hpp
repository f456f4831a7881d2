// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes in any order made whole pieces: strips of a TIFF, chunks of HDF5.

#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "convolume/image_stream.hpp"
#include "io/piece_memory.hpp"

namespace convolume::io {

/// A piece of a volume, cut at the volume's end.
struct Piece {
    index_t volume = 0;  ///< t · channels + c
    index_t number = 0;  ///< in the order of the volumes, then of z, y, x
    Box3 box;
};

class PieceAssembler {
  public:
    /// Pieces that wait take memory up to this, then that of a file.
    static constexpr index_t most_waiting_bytes = index_t{1} << 30;

    /// For pieces of format.piece. `folder` is where there is space for pieces that wait.
    PieceAssembler(const StackFormat& format, const std::string& folder,
                   index_t most_memory_bytes = most_waiting_bytes);

    /// Takes a piece that is complete: samples of the piece's shape, gone when it returns.
    using Use = std::function<void(const Piece&, const ConstImageView&)>;

    /// Takes the samples in `box` and hands over, by several threads, the pieces that they
    /// complete: straight from `source` where it holds the whole piece, otherwise from a copy.
    /// Until then the copy is kept. May be called by several threads at once. Throws
    /// InvalidArgument for samples of a piece that was complete, IoError where there is no space
    /// for copies.
    void add(index_t volume, const Box3& box, const ConstImageView& source, const Use& use);

    index_t pieces() const { return static_cast<index_t>(complete_.size()); }
    /// Bytes of the pieces begun and not complete.
    index_t waiting_bytes() const;

  private:
    struct Partial {
        char* samples = nullptr;
        index_t missing = 0;  // samples
    };

    Piece piece_at(index_t volume, const Index3& place) const;
    void take(const Piece& piece, const Box3& box, const ConstImageView& source, const Use& use);
    void begin_whole(const Piece& piece);
    char* begin_part(const Piece& piece);
    /// Whether these were the last samples it missed.
    bool finish_part(const Piece& piece, index_t samples);

    StackFormat format_;
    Shape3 grid_;  // pieces of a volume along z, y, x
    mutable std::mutex mutex_;
    std::unordered_map<index_t, Partial> partial_;
    std::vector<bool> complete_;
    PieceMemory memory_;
};

}  // namespace convolume::io
