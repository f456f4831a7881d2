#pragma once
// Engines on CUDA devices.

#include <string>
#include <vector>

#include "convolume/engine.hpp"

namespace convolume {

/// One sentence on why there are no GPU engines here; empty when there are.
std::string gpu_unavailable();

/// One engine for each of the device numbers, for all devices when there are none. Throws
/// Unavailable, with that sentence, when there is no usable device.
EngineList make_gpu_engines(const std::vector<int>& devices, index_t memory_limit_bytes);

}  // namespace convolume
