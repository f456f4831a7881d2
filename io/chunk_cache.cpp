// SPDX-License-Identifier: Apache-2.0
#include "io/chunk_cache.hpp"

namespace convolume::io {

ChunkCache::Chunk ChunkCache::get(const Key& key, index_t bytes,
                                  const std::function<Chunk()>& decode) {
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard lock(mutex_);
        const auto found = places_.find(key);
        if (found != places_.end()) {
            uses_.splice(uses_.begin(), uses_, found->second.use);
            entry = found->second.entry;
        } else {
            entry = std::make_shared<Entry>();
            uses_.push_front(key);
            places_.emplace(key, Place{entry, bytes, uses_.begin()});
            bytes_ += bytes;
            while (bytes_ > most_bytes_ && uses_.size() > 1) {
                const auto last = places_.find(uses_.back());
                bytes_ -= last->second.bytes;
                places_.erase(last);
                uses_.pop_back();
            }
        }
    }
    // Whoever comes second waits for the first. Where decoding fails, each tries for itself.
    const std::lock_guard lock(entry->mutex);
    if (!entry->chunk) entry->chunk = decode();
    return entry->chunk;
}

}  // namespace convolume::io
