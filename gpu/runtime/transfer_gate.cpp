// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/transfer_gate.hpp"

#include "gpu/runtime/bandwidth.hpp"

namespace convolume::gpu {

Gate::Pass Gate::hold(int device, Way way) {
    if (policy_ != TransferGate::per_link) return {};
    std::mutex* link = nullptr;
    {
        const std::lock_guard lock(links_mutex_);
        link = &links_[device][way == Way::to_device ? 0 : 1];
    }
    return Pass(*link);
}

Gate::Pass Gate::step() {
    return policy_ == TransferGate::global ? Pass(bus_) : Pass();
}

TransferGate choose_gate(const std::vector<int>& devices) {
    if (devices.size() < 2) return TransferGate::per_link;
    const double one = measure_concurrent_upload({devices.front()});
    const double all = measure_concurrent_upload(devices);
    // On one shared link, side by side only means that every device waits longer for its first
    // task.
    return all < 1.15 * one ? TransferGate::global : TransferGate::per_link;
}

}  // namespace convolume::gpu
