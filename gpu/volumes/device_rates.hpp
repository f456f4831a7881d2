// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine_rates.hpp"

namespace convolume::gpu {

/// Device number that stands for a device with every pass, for geometry without a GPU.
inline constexpr int any_device = -1;

/// Rates of a device and its bus, in bytes per second, and of the host.
struct DeviceRates {
    int device = 0;
    double memory = 2e12;                     ///< memory rate that our passes reach
    double multiply_adds = 28e12;             ///< peak multiply-adds per second in single precision
    double to_device = 4e10, to_host = 4e10;  ///< rates of page-locked memory
    /// Rates of ordinary memory: one direction alone, and both together.
    double staged_to_device = 3e10, staged_to_host = 3e10, staged_both = 4e10;
    MachineRates machine;
};

/// Returns the rates of a device's memory and sums; those of its bus are as above.
DeviceRates device_rates(int device, const MachineRates& machine = {});

}  // namespace convolume::gpu
