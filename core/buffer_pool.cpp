// SPDX-License-Identifier: Apache-2.0
#include "core/buffer_pool.hpp"

#include <algorithm>

namespace convolume {

BufferPool::Lease BufferPool::take(index_t bytes, int threads, const char* purpose) {
    {
        const std::lock_guard lock(mutex_);
        // The smallest that serves.
        auto best = idle_.end();
        for (auto candidate = idle_.begin(); candidate != idle_.end(); ++candidate)
            if (candidate->bytes() >= bytes &&
                (best == idle_.end() || candidate->bytes() < best->bytes()))
                best = candidate;
        if (best != idle_.end()) {
            Buffer buffer = std::move(*best);
            idle_.erase(best);
            return {*this, std::move(buffer)};
        }
        std::erase_if(idle_, [&](const Buffer& buffer) { return buffer.bytes() < bytes; });
    }
    Buffer buffer(bytes, purpose);
    buffer.touch(threads);
    if (memory_ == HostMemory::page_locked) buffer.lock_pages();
    return {*this, std::move(buffer)};
}

void BufferPool::release() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
}

void BufferPool::give_back(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(buffer));
}

}  // namespace convolume
