// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short measurements of transfers to, from and on devices.

#include <vector>

#include "convolume/engines.hpp"

namespace convolume::gpu {

GpuBandwidth measure_bandwidth(int device);
/// Sum over devices of host-to-device transfers that run at once, in bytes a second.
double measure_concurrent_upload(const std::vector<int>& devices);
/// As in convolume/engines.hpp
TransferGateChoice choose_transfer_gate(const std::vector<int>& devices);

/// Rates that engines expect, in bytes a second: both directions are in use at once most of the
/// time, and ordinary memory goes through staging. Measured once for each device: engines come and
/// go.
struct TransferRates {
    double to_device = 0, to_host = 0;
};
TransferRates transfer_rates(int device);

}  // namespace convolume::gpu
