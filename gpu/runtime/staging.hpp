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

/// Staging buffers, at most `count` of them, made as they are needed and as large as they are
/// needed: locking takes 0.4 s a GiB. Thread-safe; take() waits for one.
class StagingPool {
    struct Idle {
        char* data;
        index_t bytes;
    };

  public:
    /// The most that is staged at once.
    static constexpr index_t buffer_bytes = index_t{16} << 20;

    explicit StagingPool(int count) : room_(count) {}
    ~StagingPool();
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    /// A staging buffer on loan; gives itself back.
    struct GiveBack {
        StagingPool* pool = nullptr;
        index_t bytes = 0;
        void operator()(char* data) const { pool->give_back({data, bytes}); }
    };
    using Lease = std::unique_ptr<char, GiveBack>;

    /// At least `bytes`, which are at most buffer_bytes.
    Lease take(index_t bytes);
    /// Null instead of waiting.
    Lease try_take(index_t bytes);

  private:
    void give_back(const Idle& buffer);
    Lease make(index_t bytes, std::unique_lock<std::mutex> lock);

    std::mutex mutex_;
    std::condition_variable freed_;
    int room_;
    std::vector<Idle> idle_;
};

}  // namespace convolume::gpu
