// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/meeting.hpp"

#include "gpu/runtime/device.hpp"

namespace convolume::gpu {

Meeting::Meeting(const std::vector<int>& devices) : devices_(devices) {
    for (const int device : devices) {
        const DeviceScope scope(device);
        events_.emplace_back();
    }
}

void Meeting::enqueue(const StreamList& streams) const {
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

}  // namespace convolume::gpu
