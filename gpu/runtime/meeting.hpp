// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order between the CUDA streams of several devices.

#include <vector>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

/// CUDA streams, one on each of several devices.
using StreamList = std::vector<cudaStream_t>;

/// A point of an execution at which all devices wait for all.
class Meeting {
  public:
    explicit Meeting(const std::vector<int>& devices) : devices_(devices) {
        for (const int device : devices) {
            const DeviceScope scope(device);
            events_.emplace_back();
        }
    }
    /// Makes later work on all CUDA streams wait for the present work on all.
    void enqueue(const StreamList& streams) const {
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const DeviceScope scope(devices_[i]);
            events_[i].record(streams[i]);
        }
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const DeviceScope scope(devices_[i]);
            for (std::size_t other = 0; other < devices_.size(); ++other)
                if (other != i) events_[other].make_wait(streams[i]);
        }
    }

  private:
    std::vector<int> devices_;
    std::vector<CudaEvent> events_;
};

}  // namespace convolume::gpu
