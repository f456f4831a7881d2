// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of images: strips of a TIFF, chunks of HDF5. Written boxes are assembled to whole pieces;
// decoded pieces are kept for the next box that is read.

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

class ChunkCache {
  public:
    using Chunk = std::shared_ptr<const char[]>;
    /// Dataset and number of a chunk.
    using Key = std::pair<index_t, index_t>;

    /// Keeps chunks of that many bytes in all, besides those in use.
    explicit ChunkCache(index_t most_bytes) : most_bytes_(most_bytes) {}

    /// The chunk, of `bytes` bytes, decoded by this call where it is not kept. Two threads that ask
    /// for the same chunk decode it once.
    Chunk get(const Key& key, index_t bytes, const std::function<Chunk()>& decode);

  private:
    struct Entry {
        std::mutex mutex;
        Chunk chunk;
    };
    struct Place {
        std::shared_ptr<Entry> entry;
        index_t bytes;
        std::list<Key>::iterator use;
    };

    index_t most_bytes_;
    std::mutex mutex_;
    std::map<Key, Place> places_;
    std::list<Key> uses_;  // the last one first
    index_t bytes_ = 0;
};

}  // namespace convolume::io
