// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device memory: allocations that free themselves, and a pool that keeps them within a limit.
// Allocating and freeing stop the whole device, so allocations are kept for reuse. Also one range
// of addresses that is spread over several devices.

#include <memory>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Bytes of all device memory that the process has allocated.
struct DeviceMemoryUse {
    index_t current_bytes;
    index_t peak_bytes;
};
DeviceMemoryUse device_memory_use();
/// Counts `bytes` that were allocated, or freed if negative.
void count_device_bytes(index_t bytes);
void reset_device_memory_peak();

/// Returns the address of new memory on the current device, for cudaFree. If the memory is used up,
/// kept plans give theirs back first. Throws OutOfMemory.
void* allocate_on_current_device(index_t bytes, const char* purpose);

/// One allocation on one device. Move-only.
class DeviceMemory {
  public:
    static constexpr index_t alignment = 512;

    DeviceMemory() = default;
    /// Allocates `bytes`. Throws OutOfMemory, which names `purpose`, if the device refuses.
    DeviceMemory(int device, index_t bytes, const char* purpose = "a workspace");

    char* data() const { return as<char>(); }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_.get());
    }
    index_t bytes() const { return data_ ? data_.get_deleter().bytes : 0; }
    /// Sets all bytes to 0; returns when this is done. Transforms of spectra also read the padding
    /// of rows without using it. Cleared memory avoids reports of memory checkers.
    void clear() const;

  private:
    struct CountingDeleter {
        index_t bytes;
        void operator()(void* data) const;
    };

    int device_ = 0;
    std::unique_ptr<void, CountingDeleter> data_;
};

/// Returns the bytes after which the next array in an allocation begins.
constexpr index_t aligned(index_t bytes) {
    return round_up(bytes, DeviceMemory::alignment);
}

/// A pool of allocations on one device, kept between uses. Thread-safe.
class DevicePool {
  public:
    /// Memory borrowed from the pool; shared, so that prepared kernels keep it during their
    /// lifetime.
    using BorrowedMemory = std::shared_ptr<char>;

    /// Makes an empty pool; `limit_bytes` 0: no limit.
    DevicePool(int device, index_t limit_bytes);
    ~DevicePool();

    /// Returns at least `bytes`, from the idle allocations if one fits well. Throws OutOfMemory if
    /// the limit or the device leaves no room, even without idle allocations.
    BorrowedMemory take(index_t bytes, const char* purpose);
    /// Counts `bytes` that are allocated elsewhere, as long as the result lives. Throws OutOfMemory
    /// if the limit leaves no room, even without idle allocations.
    std::shared_ptr<void> reserve(index_t bytes, const char* purpose);
    /// Frees the idle allocations.
    void release();
    index_t limit_bytes() const;
    /// Lowers the limit to the memory that can really be allocated. Called after the device refused
    /// memory.
    void lower_limit();

  private:
    struct PoolContents;
    std::shared_ptr<PoolContents> contents_;
};

/// One range of addresses, spread over several devices, all of which can read and write it.
/// Move-only.
class SpreadMemory {
  public:
    struct DeviceShare {
        int device = 0;
        index_t bytes = 0;
    };

    /// Whether these devices can share addresses.
    static bool is_possible(const std::vector<int>& devices);

    SpreadMemory() = default;
    /// Allocates all shares, one after another. Throws OutOfMemory, which names `purpose`, if
    /// memory is refused.
    SpreadMemory(const std::vector<DeviceShare>& shares, const char* purpose);

    template <class T>
    T* as() const {
        return static_cast<T*>(data_.get());
    }

  private:
    struct SpreadDeleter {
        void operator()(void* data) const;
    };
    std::unique_ptr<void, SpreadDeleter> data_;
};

}  // namespace convolume::gpu
