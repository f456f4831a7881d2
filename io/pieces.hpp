// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of images: TIFF strips and HDF5 chunks. Written boxes are assembled to whole pieces.
// Decoded HDF5 chunks are cached for the next box that is read.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "convolume/image_stream.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// Memory for incomplete pieces: buffers of equal size, in RAM up to a limit and then in a file.
class PieceMemory {
  public:
    /// Allocates nothing. Beyond `most_bytes`, pieces will be in an unnamed file in `folder`.
    PieceMemory(std::string folder, index_t piece_bytes, index_t most_bytes);
    ~PieceMemory();
    PieceMemory(const PieceMemory&) = delete;
    PieceMemory& operator=(const PieceMemory&) = delete;

    /// Returns memory for one piece. Throws IoError if there is no space for the file. Two threads
    /// must not call this or give_back() at once.
    char* allocate();
    /// Makes the memory of a piece available for later calls of allocate().
    void give_back(char* piece);

    /// Returns the bytes of the pieces that are allocated.
    index_t used_bytes() const { return used_pieces_ * piece_bytes_; }
    index_t file_bytes() const { return static_cast<index_t>(mapped_.size()) * mapping_bytes_; }

  private:
    void add_mapping();

    std::string folder_;
    index_t piece_bytes_;
    index_t most_in_ram_;    // largest number of pieces in RAM
    index_t mapping_bytes_;  // bytes of a mapping: a multiple of the page size, at least one piece
    index_t used_pieces_ = 0;
    std::vector<std::unique_ptr<char[]>> in_ram_;
    std::vector<void*> mapped_;
    std::vector<char*> free_;
    int descriptor_ = -1;
};

/// The pieces of the shape `piece` that a box meets.
struct PieceRange {
    PieceRange(const Box3& box, const Shape3& piece);
    /// Returns the indices along z, y, x of the piece `i`, counted with x fastest.
    Index3 at(index_t i) const;

    Index3 first;  ///< indices of the first piece along z, y, x
    Shape3 counts;
};

/// Returns the box in coordinates that begin at `origin`.
Box3 relative_to(const Box3& box, const Index3& origin);

/// A piece of a volume. Pieces at the end of an axis are cut there.
struct Piece {
    index_t volume = 0;  ///< number of the volume, t · channels + c
    index_t number = 0;  ///< number of the piece, in the order of volumes, then z, y, x
    Box3 box;
};

/// Assembles boxes of any shape to whole pieces, as a compressed file stores them.
class PieceAssembler {
  public:
    /// Bytes of RAM for incomplete pieces. Beyond this, they are in a file.
    static constexpr index_t most_waiting_bytes = index_t{1} << 30;

    /// Assembles pieces of the shape format.piece. `folder` must have space for incomplete pieces.
    PieceAssembler(const StackFormat& format, const std::string& folder,
                   index_t most_memory_bytes = most_waiting_bytes);

    /// Function that consumes a complete piece. Its samples are valid only during the call.
    using PieceConsumer = std::function<void(const Piece&, const ConstImageView&)>;

    /// Adds the samples in `box`. Several threads pass the pieces that become complete to
    /// `consume`. These are views of `source` if it holds the whole piece, otherwise of a copy that
    /// is kept until then. Several threads may call this at once. Throws InvalidArgument if a piece
    /// was complete before, IoError if there is no space for copies.
    void add(index_t volume, const Box3& box, const ConstImageView& source,
             const PieceConsumer& consume);

    index_t pieces() const { return static_cast<index_t>(complete_.size()); }
    /// Returns the bytes of the incomplete pieces.
    index_t waiting_bytes() const;

  private:
    struct IncompletePiece {
        char* samples = nullptr;
        index_t missing = 0;  // number of samples that were not added yet
    };

    Piece piece_at(index_t volume, const Index3& index) const;
    void add_to_piece(const Piece& piece, const Box3& box, const ConstImageView& source,
                      const PieceConsumer& consume);
    void mark_complete(const Piece& piece);
    char* find_or_begin(const Piece& piece);
    /// Counts `samples` more samples of the piece as present. Returns true if none is missing now.
    bool count_samples(const Piece& piece, index_t samples);

    StackFormat format_;
    Shape3 grid_;  // numbers of pieces of a volume along z, y, x
    mutable std::mutex mutex_;
    std::unordered_map<index_t, IncompletePiece> incomplete_;
    std::vector<bool> complete_;
    PieceMemory memory_;
};

/// Cache of decoded HDF5 chunks. The chunks that were used least recently are dropped first.
class Hdf5ChunkCache {
  public:
    using Chunk = std::shared_ptr<const char[]>;
    /// Number of the dataset, and number of the HDF5 chunk in it.
    using Key = std::pair<index_t, index_t>;

    /// Keeps at most `most_bytes` of HDF5 chunks, not counting those that are in use.
    explicit Hdf5ChunkCache(index_t most_bytes) : most_bytes_(most_bytes) {}

    /// Returns the HDF5 chunk with `key`, which has `bytes` bytes. Calls `decode` if it is not
    /// cached. If two threads need the same HDF5 chunk, it is decoded once.
    Chunk get(const Key& key, index_t bytes, const std::function<Chunk()>& decode);

  private:
    struct DecodedChunk {
        std::mutex mutex;
        Chunk chunk;
    };
    struct CacheEntry {
        std::shared_ptr<DecodedChunk> decoded;
        index_t bytes;
        std::list<Key>::iterator last_use;
    };

    index_t most_bytes_;
    std::mutex mutex_;
    std::map<Key, CacheEntry> entries_;
    std::list<Key> uses_;  // most recently used first
    index_t bytes_ = 0;
};

}  // namespace convolume::io
