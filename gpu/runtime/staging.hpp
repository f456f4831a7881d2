// SPDX-License-Identifier: Apache-2.0
#pragma once
// Page-locked host memory: staging buffers through which ordinary memory travels, and the page
// locker that core's buffers use.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Lets Buffer::lock_pages() lock pages for CUDA from now on.
void install_page_locker();

/// Whether all of [data, data + bytes) is page-locked memory that devices reach by themselves.
bool is_page_locked(const void* data, index_t bytes);

/// Staging buffers, at most `count` of them, made as they are needed: locking takes 0.4 s a GiB.
/// Thread-safe; take() waits for one.
class StagingPool {
  public:
    static constexpr index_t buffer_bytes = index_t{16} << 20;

    explicit StagingPool(int count) : room_(count) {}
    ~StagingPool();
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    /// A staging buffer on loan; gives itself back.
    struct GiveBack {
        StagingPool* pool;
        void operator()(char* buffer) const { pool->give_back(buffer); }
    };
    using Lease = std::unique_ptr<char, GiveBack>;

    Lease take();
    /// Null instead of waiting.
    Lease try_take();

  private:
    void give_back(char* buffer);
    Lease make(std::unique_lock<std::mutex> lock);

    std::mutex mutex_;
    std::condition_variable freed_;
    int room_;
    std::vector<char*> idle_;
};

}  // namespace convolume::gpu
