// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on one device that several convolutions overwrite, one after another. It is as large as
// the largest of them needs.

#include <algorithm>
#include <memory>
#include <utility>

#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

class Workspace : public DeviceWorkspace {
  public:
    explicit Workspace(int device) : device_(device) {}

    /// Returns `shared`, which is on `device`, or a new workspace if it is null.
    static std::shared_ptr<Workspace> shared_or_new(const std::shared_ptr<DeviceWorkspace>& shared,
                                                    int device) {
        if (shared) return std::static_pointer_cast<Workspace>(shared);
        return std::make_shared<Workspace>(device);
    }

    int device() const override { return device_; }
    index_t bytes() const {
        index_t bytes = 0;
        order_.after_last_use([&] { bytes = memory_.bytes(); });
        return bytes;
    }
    /// Enlarges the workspace to at least `bytes`. Returns the number of bytes added. Throws
    /// OutOfMemory.
    index_t grow(index_t bytes) {
        index_t added_bytes = 0;
        order_.after_last_use([&] {
            added_bytes = -memory_.bytes();
            allocate(bytes);
            added_bytes += memory_.bytes();
        });
        return added_bytes;
    }

    /// Calls work(is_unchanged), which enqueues work on `stream` that uses `bytes` of the
    /// workspace, after the work of other users. `is_unchanged`: no other user has written to it
    /// since the last use by `user`.
    template <class Work>
    void use(const void* user, index_t bytes, cudaStream_t stream, const Work& work) {
        order_.run(stream, [&] {
            allocate(bytes);  // already allocated, unless growing failed
            const bool is_unchanged = std::exchange(user_, user) == user;
            work(is_unchanged);
        });
    }
    /// Valid only during use(), because the workspace may grow between uses.
    char* data() const { return memory_.data(); }

  private:
    void allocate(index_t bytes) {
        if (bytes <= memory_.bytes()) return;
        user_ = nullptr;
        DeviceMemory larger_memory;
        try {
            larger_memory = DeviceMemory(device_, bytes);
            // there is no room for the old and the new memory together
        } catch (const OutOfMemory&) {
            memory_ = {};
            larger_memory = DeviceMemory(device_, bytes);
        }
        larger_memory.clear();
        memory_ = std::move(larger_memory);  // freeing waits for the work that uses the old memory
    }

    int device_;
    DeviceMemory memory_;
    mutable StreamOrder order_;
    const void* user_ = nullptr;
};

}  // namespace convolume::gpu
