// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/staging.hpp"

#include <cuda_runtime_api.h>

#include "convolume/volume.hpp"
#include "core/host_memory.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

bool lock_pages(void* data, std::size_t bytes) {
    // Portable: for all devices, whichever is current.
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());  // refused: staging serves as well, only slower
    return false;
}

void unlock_pages(void* data) {
    static_cast<void>(cudaHostUnregister(data));
}

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
    for (char* buffer : idle_) static_cast<void>(cudaFreeHost(buffer));
}

StagingPool::Lease StagingPool::take() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !idle_.empty() || room_ > 0; });
    return make(std::move(lock));
}

StagingPool::Lease StagingPool::try_take() {
    std::unique_lock lock(mutex_);
    if (idle_.empty() && room_ == 0) return Lease(nullptr, {this});
    return make(std::move(lock));
}

// One that is idle, or a new one.
StagingPool::Lease StagingPool::make(std::unique_lock<std::mutex> lock) {
    if (!idle_.empty()) {
        char* const buffer = idle_.back();
        idle_.pop_back();
        return Lease(buffer, {this});
    }
    --room_;
    lock.unlock();
    void* buffer = nullptr;
    try {
        check(cudaHostAlloc(&buffer, buffer_bytes, cudaHostAllocPortable), "a staging buffer");
    } catch (...) {
        lock.lock();
        ++room_;
        throw;
    }
    return Lease(static_cast<char*>(buffer), {this});
}

void StagingPool::give_back(char* buffer) {
    {
        const std::lock_guard lock(mutex_);
        idle_.push_back(buffer);
    }
    freed_.notify_one();
}

}  // namespace convolume::gpu
