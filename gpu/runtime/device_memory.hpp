// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on one device: allocations that free themselves, and a pool that keeps them within a
// declared limit. Allocating and freeing stop the whole device, so that memory is kept for reuse.
// And memory of one address whose parts lie on several devices.

#include <memory>
#include <mutex>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Bytes of all allocations of the process on devices.
struct DeviceMemoryUse {
    index_t current_bytes;
    index_t peak_bytes;
};
DeviceMemoryUse device_memory_use();
void reset_device_memory_peak();

/// One allocation on one device. Move-only.
class DeviceMemory {
  public:
    static constexpr index_t alignment = 512;

    DeviceMemory() = default;
    /// Throws OutOfMemory, with `purpose`, when the device refuses.
    DeviceMemory(int device, index_t bytes, const char* purpose = "a workspace");

    char* data() const { return as<char>(); }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_.get());
    }
    index_t bytes() const { return data_ ? data_.get_deleter().bytes : 0; }
    /// Sets all bytes to 0, and waits for it. Transforms of spectra also read what lies behind the
    /// rows, though its results are not used: cleared, it does not set off memory checkers.
    void clear() const;

  private:
    struct Free {
        index_t bytes;
        void operator()(void* data) const;
    };

    int device_ = 0;
    std::unique_ptr<void, Free> data_;
};

/// Allocations of one device, kept between uses. Thread-safe.
class DevicePool {
  public:
    /// Memory on loan; shared so that kernels may keep it as long as they live.
    using Lease = std::shared_ptr<char>;

    /// `limit_bytes` 0: none.
    DevicePool(int device, index_t limit_bytes);
    ~DevicePool();

    /// At least `bytes`, from what is idle where something fits well. Throws OutOfMemory when the
    /// limit or the device has no room, even after everything idle was freed.
    Lease take(index_t bytes, const char* purpose);
    /// Frees what is idle.
    void release();
    index_t limit_bytes() const;
    /// After a refusal: the limit sinks to what can really be had.
    void lower_limit();

  private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Memory of one address whose parts lie on several devices, each of which reads and writes all of
/// it. Move-only.
class SpreadMemory {
  public:
    struct Part {
        int device = 0;
        index_t bytes = 0;
    };

    /// Whether these devices share addresses.
    static bool possible(const std::vector<int>& devices);

    SpreadMemory() = default;
    /// Parts one after another. Throws OutOfMemory, with `purpose`, where memory is refused.
    SpreadMemory(const std::vector<Part>& parts, const char* purpose);

    template <class T>
    T* as() const {
        return static_cast<T*>(data_.get());
    }

  private:
    struct Free {
        void operator()(void* data) const;
    };
    std::unique_ptr<void, Free> data_;
};

}  // namespace convolume::gpu
