// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_selection.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "gpu/runtime/device.hpp"

namespace convolume::gpu {

std::vector<int> choose_devices(const std::vector<int>& asked) {
    if (const std::string why = unavailable(); !why.empty()) throw GpuUnavailable(why);
    const int count = device_count();
    for (const int device : asked) {
        if (device < 0 || device >= count)
            throw InvalidArgument(message("there is no GPU ", device, ": this machine has ", count,
                                          ", numbered from 0"));
        if (!device_facts(device).usable())
            throw GpuUnavailable(message("GPU ", device,
                                         " is too old: convolume needs compute "
                                         "capability 7.5 or later"));
    }
    if (!asked.empty()) return asked;
    std::vector<int> usable;
    for (int device = 0; device < count; ++device)
        if (device_facts(device).usable()) usable.push_back(device);
    return usable;
}

index_t shares_of(const std::vector<int>& devices, int device) {
    return std::count(devices.begin(), devices.end(), device);
}

index_t device_limit(const GpuOptions& options, const std::vector<int>& devices, int device) {
    const index_t limit = options.memory_limit_bytes ? *options.memory_limit_bytes
                                                     : free_device_bytes(device) / 10 * 9;
    return std::max<index_t>(limit / shares_of(devices, device), 1);
}

int threads_each(const GpuOptions& options, std::size_t devices) {
    const int threads = options.host_threads > 0 ? options.host_threads : thread_count(0);
    return std::max(1, threads / static_cast<int>(devices));
}

}  // namespace convolume::gpu
