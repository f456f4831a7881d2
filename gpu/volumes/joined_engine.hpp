// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine that spreads each block over the memory of several devices.

#include <memory>
#include <vector>

#include "core/engine.hpp"
#include "gpu/volumes/block_planes.hpp"

namespace convolume::gpu {

/// A device of a joined engine, and the engine on it alone, whose resources are shared.
struct JoinedDevice {
    std::shared_ptr<Engine> engine;
    DeviceRates rates;
    std::shared_ptr<DeviceResources> resources;
};

/// `devices` has at least two, which may be the same.
std::shared_ptr<Engine> make_joined_engine(std::vector<JoinedDevice> devices);

}  // namespace convolume::gpu
