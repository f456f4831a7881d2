// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/staging.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"
#include "core/host_memory.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

bool lock_pages(void* data, std::size_t bytes) {
    // Portable: locked for all devices, whichever is current.
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) == cudaSuccess) return true;
    // refused: staging buffers work as well, but are slower
    static_cast<void>(cudaGetLastError());
    return false;
}

void unlock_pages(void* data) {
    static_cast<void>(cudaHostUnregister(data));
}

/// Idle staging buffers of all pools that have ended. Locking pages takes 0.4 s per GiB, so that
/// later pools take them over.
class IdleStaging {
  public:
    static IdleStaging& instance() {
        // Never destroyed, because CUDA may end before.
        static auto& idle = *new IdleStaging;
        return idle;
    }

    /// Returns the smallest idle buffer of at least `bytes`; null data if there is none.
    std::pair<char*, index_t> take(index_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = buffers_.lower_bound(bytes);
        if (found == buffers_.end()) return {};
        const std::pair<char*, index_t> buffer{found->second, found->first};
        bytes_ -= found->first;
        buffers_.erase(found);
        return buffer;
    }
    /// Keeps a buffer, or frees it if enough are kept.
    void put(char* data, index_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            if (bytes_ + bytes <= largest_bytes) {
                buffers_.emplace(bytes, data);
                bytes_ += bytes;
                return;
            }
        }
        static_cast<void>(cudaFreeHost(data));
    }
    void release() {
        std::multimap<index_t, char*> freed;
        {
            const std::lock_guard lock(mutex_);
            freed.swap(buffers_);
            bytes_ = 0;
        }
        for (const auto& [bytes, data] : freed) static_cast<void>(cudaFreeHost(data));
    }

  private:
    static constexpr index_t largest_bytes = index_t{256} << 20;

    std::mutex mutex_;
    std::multimap<index_t, char*> buffers_;
    index_t bytes_ = 0;
};

bool is_page_locked_at(const void* address) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    return attributes.type == cudaMemoryTypeHost;
}

}  // namespace

void install_page_locker() {
    static constexpr PageLocker locker{lock_pages, unlock_pages};
    set_page_locker(&locker);
}

bool is_page_locked(const void* data, index_t bytes) {
    return bytes > 0 && is_page_locked_at(data) &&
           is_page_locked_at(static_cast<const char*>(data) + bytes - 1);
}

StagingPool::~StagingPool() {
    for (const IdleBuffer& buffer : idle_buffers_)
        IdleStaging::instance().put(buffer.data, buffer.bytes);
}

void release_idle_staging() {
    IdleStaging::instance().release();
}

StagingPool::StagingBuffer StagingPool::take(index_t bytes) {
    std::unique_lock lock(mutex_);
    buffer_freed_.wait(lock, [&] { return !idle_buffers_.empty() || buffers_left_ > 0; });
    return take_or_make(bytes, std::move(lock));
}

StagingPool::StagingBuffer StagingPool::try_take(index_t bytes) {
    std::unique_lock lock(mutex_);
    if (idle_buffers_.empty() && buffers_left_ == 0) return {};
    return take_or_make(bytes, std::move(lock));
}

// Returns an idle staging buffer that is large enough, or a new one. If there is no room for more,
// the new one replaces a smaller one.
StagingPool::StagingBuffer StagingPool::take_or_make(index_t bytes,
                                                     std::unique_lock<std::mutex> lock) {
    const auto fits = std::find_if(idle_buffers_.begin(), idle_buffers_.end(),
                                   [&](const IdleBuffer& buffer) { return buffer.bytes >= bytes; });
    if (fits != idle_buffers_.end()) {
        const IdleBuffer buffer = *fits;
        idle_buffers_.erase(fits);
        return StagingBuffer(buffer.data, {this, buffer.bytes});
    }
    char* smaller = nullptr;
    if (buffers_left_ > 0) {
        --buffers_left_;
    } else {
        smaller = idle_buffers_.back().data;
        idle_buffers_.pop_back();
    }
    lock.unlock();
    // Sizes are powers of two, because later requests are often a little larger.
    const index_t rounded = std::min(
        buffer_bytes, static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes))));
    if (!smaller)
        if (const auto [kept, bytes_there] = IdleStaging::instance().take(rounded); kept)
            return StagingBuffer(kept, {this, bytes_there});
    void* data = nullptr;
    try {
        if (smaller) check(cudaFreeHost(smaller), "freeing a staging buffer");
        const cudaError_t status =
            cudaHostAlloc(&data, static_cast<std::size_t>(rounded), cudaHostAllocPortable);
        if (status == cudaErrorMemoryAllocation) {
            static_cast<void>(cudaGetLastError());
            throw OutOfMemory(
                message("the system refused ", format_bytes(rounded),
                        " of page-locked memory for transfers to the GPU: close other "
                        "programs, or compute on the CPU"));
        }
        check(status, "taking memory for transfers");
    } catch (...) {
        lock.lock();
        ++buffers_left_;
        throw;
    }
    return StagingBuffer(static_cast<char*>(data), {this, rounded});
}

void StagingPool::put_back(const IdleBuffer& buffer) {
    {
        const std::lock_guard lock(mutex_);
        idle_buffers_.push_back(buffer);
    }
    buffer_freed_.notify_one();
}

}  // namespace convolume::gpu
