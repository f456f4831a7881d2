// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short measurements of the ways to and on a device.

#include <vector>

#include "convolume/engines.hpp"

namespace convolume::gpu {

GpuBandwidth measure_bandwidth(int device);
/// Sum over devices of host-to-device transfers that run at once, in bytes a second.
double measure_concurrent_upload(const std::vector<int>& devices);

/// What engines reckon with, in bytes a second: both ways are in use at once most of the time, and
/// ordinary memory goes through staging. Measured once for each device: engines come and go.
struct TransferRates {
    double to_device = 0, to_host = 0;
};
TransferRates transfer_rates(int device);

}  // namespace convolume::gpu
