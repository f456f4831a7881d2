// SPDX-License-Identifier: Apache-2.0
#pragma once
// Page-locked host memory: staging buffers through which ordinary memory travels, and the page
// locker of core's buffers.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Makes Buffer::lock_pages() lock pages for CUDA from now on.
void install_page_locker();

/// Whether all of [data, data + bytes) is page-locked memory that devices can access directly.
bool is_page_locked(const void* data, index_t bytes);

/// Frees the staging buffers that pools have left for later pools.
void release_idle_staging();

/// A pool of at most `count` staging buffers, made on demand in the requested size, since locking
/// takes 0.4 s per GiB. Its end leaves up to 256 MiB of them to later pools. Thread-safe; take()
/// waits for a free buffer.
class StagingPool {
    struct IdleBuffer {
        char* data;
        index_t bytes;
    };

  public:
    /// Largest size of a staging buffer.
    static constexpr index_t buffer_bytes = index_t{16} << 20;

    explicit StagingPool(int count) : buffers_left_(count) {}
    ~StagingPool();
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    struct BufferReturner {
        StagingPool* pool = nullptr;
        index_t bytes = 0;
        void operator()(char* data) const { pool->put_back({data, bytes}); }
    };
    using StagingBuffer = std::unique_ptr<char, BufferReturner>;

    /// Returns a staging buffer of at least `bytes`, which must not exceed buffer_bytes. Waits
    /// until one is free.
    StagingBuffer take(index_t bytes);
    /// Returns a staging buffer as take() does, but null instead of waiting for one.
    StagingBuffer try_take(index_t bytes);

  private:
    void put_back(const IdleBuffer& buffer);
    StagingBuffer take_or_make(index_t bytes, std::unique_lock<std::mutex> lock);

    std::mutex mutex_;
    std::condition_variable buffer_freed_;
    int buffers_left_;
    std::vector<IdleBuffer> idle_buffers_;
};

}  // namespace convolume::gpu
