#pragma once
// The engines of CUDA devices.

#include "convolume/engines.hpp"
#include "core/engine.hpp"

namespace convolume {

struct GpuOptions {
    std::vector<int> devices;                   ///< CUDA numbers; empty: all usable ones
    std::optional<index_t> memory_limit_bytes;  ///< of each; nothing: most of what is free
    TransferGate transfer_gate = TransferGate::automatic;
    int host_threads = 0;  ///< that copy ordinary memory to and from staging; 0: OpenMP's number
    int first_index = 0;   ///< EngineInfo::index of the first
};

/// One engine for each device. Throws Unavailable, with that sentence, when there is no usable
/// device; InvalidArgument for device numbers that do not exist.
EngineList make_gpu_engines(const GpuOptions& options = {});

}  // namespace convolume
