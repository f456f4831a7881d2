// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decoded chunks that were used last, for threads that read boxes of one image.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "convolume/shape.hpp"

namespace convolume::io {

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
