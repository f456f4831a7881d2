// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/device_rates.hpp"

#include "gpu/runtime/device.hpp"

namespace convolume::gpu {

DeviceRates device_rates(int device, const MachineRates& machine) {
    const DeviceProperties properties = device_properties(device);
    DeviceRates rates;
    rates.device = device;
    // Some drivers do not tell the rate of the memory.
    if (properties.memory_bytes_per_s > 0)
        rates.memory = properties.memory_bytes_per_s * machine.gpu_pass_share;
    rates.multiply_adds = properties.processors * machine.gpu_multiply_adds;
    rates.machine = machine;
    return rates;
}

}  // namespace convolume::gpu
