// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short measurements of transfers to, from and on devices.

#include <vector>

#include "convolume/engines.hpp"

namespace convolume::gpu {

GpuBandwidth measure_bandwidth(int device);
/// Returns the summed rate of concurrent host-to-device transfers to all devices, in bytes per
/// second.
double measure_concurrent_upload(const std::vector<int>& devices);
/// Chooses as documented in convolume/engines.hpp.
TransferGateChoice choose_transfer_gate(const std::vector<int>& devices);

/// Returns the gate that choose_transfer_gate() has chosen for these devices, in this process or
/// in an earlier one.
TransferGate kept_transfer_gate(const std::vector<int>& devices);

/// Transfer rates that engines expect, in bytes per second, if both directions are in use at once.
/// Measured once on a machine, because engines are made repeatedly.
struct TransferRates {
    double to_device = 0, to_host = 0;
};
/// Returns the rates of page-locked memory.
TransferRates direct_transfer_rates(int device);
/// Rates of large images in ordinary memory, which threads of the host copy to and from staging
/// buffers.
struct StagedRates {
    double to_device = 0, to_host = 0;  ///< of one direction alone
    double both = 0;                    ///< of both directions together, at once
};
/// `host_threads` threads copy for each direction.
StagedRates staged_transfer_rates(int device, int host_threads);
/// Returns the rates that staging buffers reach if other threads fill and empty them.
TransferRates transfer_rates(int device);

}  // namespace convolume::gpu
