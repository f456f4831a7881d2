// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pool of host buffers that are kept between executions, so that their pages are touched only
// once. Thread-safe.

#include <mutex>
#include <new>
#include <vector>

#include "convolume/volume.hpp"

namespace convolume {

class BufferPool {
  public:
    explicit BufferPool(HostMemory memory = HostMemory::ordinary) : memory_(memory) {}

    /// A buffer borrowed from the pool; the destructor returns it.
    class BorrowedBuffer {
      public:
        BorrowedBuffer(BufferPool& pool, Buffer buffer) : pool_(pool), buffer_(std::move(buffer)) {}
        ~BorrowedBuffer() { pool_.give_back(std::move(buffer_)); }
        BorrowedBuffer(const BorrowedBuffer&) = delete;
        BorrowedBuffer& operator=(const BorrowedBuffer&) = delete;
        void* data() const { return buffer_.data(); }

      private:
        BufferPool& pool_;
        Buffer buffer_;
    };

    /// Returns a buffer of at least `bytes`. `threads` threads touch the pages of a new one. Idle
    /// buffers that are too small are freed first, so that the pool never holds more than the
    /// blocks in flight took.
    BorrowedBuffer take(index_t bytes, int threads, const char* purpose) {
        {
            const std::lock_guard lock(mutex_);
            // The smallest idle buffer that is large enough.
            auto smallest = idle_buffers_.end();
            for (auto candidate = idle_buffers_.begin(); candidate != idle_buffers_.end();
                 ++candidate)
                if (candidate->bytes() >= bytes &&
                    (smallest == idle_buffers_.end() || candidate->bytes() < smallest->bytes()))
                    smallest = candidate;
            if (smallest != idle_buffers_.end()) {
                Buffer buffer = std::move(*smallest);
                idle_buffers_.erase(smallest);
                return {*this, std::move(buffer)};
            }
            std::erase_if(idle_buffers_,
                          [&](const Buffer& buffer) { return buffer.bytes() < bytes; });
        }
        Buffer buffer(bytes, purpose);
        buffer.touch(threads);
        if (memory_ == HostMemory::page_locked) buffer.lock_pages();
        return {*this, std::move(buffer)};
    }

    /// Frees the idle buffers.
    void release() {
        const std::lock_guard lock(mutex_);
        idle_buffers_.clear();
    }

  private:
    /// Keeps the buffer for reuse. If there is no memory to extend the list, the buffer is freed
    /// instead.
    void give_back(Buffer buffer) noexcept {
        const std::lock_guard lock(mutex_);
        try {
            idle_buffers_.push_back(std::move(buffer));
        } catch (const std::bad_alloc&) {
        }
    }

    HostMemory memory_;
    std::mutex mutex_;
    std::vector<Buffer> idle_buffers_;
};

}  // namespace convolume
