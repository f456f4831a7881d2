// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on one device that convolutions overwrite, one after another. Those that share it take it
// once: it is as large as the largest of them needs.

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

    /// `shared`, which is on `device`, or a new one where that is null.
    static std::shared_ptr<Workspace> shared_or_new(const std::shared_ptr<DeviceWorkspace>& shared,
                                                    int device) {
        if (shared) return std::static_pointer_cast<Workspace>(shared);
        return std::make_shared<Workspace>(device);
    }

    int device() const override { return device_; }
    index_t bytes() const {
        index_t bytes = 0;
        order_.between([&] { bytes = memory_.bytes(); });
        return bytes;
    }
    /// Makes it at least so large. Returns by how much it has grown. Throws OutOfMemory.
    index_t grow(index_t bytes) {
        index_t grown = 0;
        order_.between([&] {
            grown = -memory_.bytes();
            allocate(bytes);
            grown += memory_.bytes();
        });
        return grown;
    }

    /// Calls work(as_left), which enqueues work on `stream` that uses `bytes`, after the work of
    /// other users. `as_left`: no other user has had them since `user` did.
    template <class Work>
    void use(const void* user, index_t bytes, cudaStream_t stream, const Work& work) {
        order_.run(stream, [&] {
            allocate(bytes);  // it is there, unless it could not grow
            const bool as_left = std::exchange(user_, user) == user;
            work(as_left);
        });
    }
    /// Only while it is used: it may become larger between uses.
    char* data() const { return memory_.data(); }

  private:
    void allocate(index_t bytes) {
        if (bytes <= memory_.bytes()) return;
        user_ = nullptr;
        DeviceMemory larger;
        try {
            larger = DeviceMemory(device_, bytes);
        } catch (const OutOfMemory&) {  // beside the old
            memory_ = {};
            larger = DeviceMemory(device_, bytes);
        }
        larger.clear();
        memory_ = std::move(larger);  // freeing waits for what uses the old
    }

    int device_;
    DeviceMemory memory_;
    mutable StreamOrder order_;
    const void* user_ = nullptr;
};

}  // namespace convolume::gpu
