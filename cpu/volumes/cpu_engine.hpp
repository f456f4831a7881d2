// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine of the host's processor: FFTW for transforms, sums in space for tiny kernels.

#include <memory>
#include <string>

#include "core/engine.hpp"

namespace convolume {

struct CpuEngineOptions {
    std::string name = "cpu";
    int index = 0;  ///< on timelines
    int threads = 1;
    /// Bytes that a plan may use on this engine, workspaces and kernels together; 0: no limit of
    /// its own. Lets a host engine stand in for a small device.
    index_t memory_limit_bytes = 0;
    MachineRates rates = machine_rates();
};

/// Plans of FFTW are measured once and remembered in the user's cache folder
/// ($XDG_CACHE_HOME/convolume or ~/.cache/convolume).
std::shared_ptr<Engine> make_cpu_engine(const CpuEngineOptions& options);

namespace cpu {

/// A kernel as the CPU engine keeps it, with what convolves a block by it.
class Kernel : public EngineKernel {
  public:
    virtual ExecutionReport convolve(const Block& block, const BlockInput& input,
                                     const BlockOutput& output, char* workspace, int threads,
                                     const ExecutionContext& context) const = 0;
};

}  // namespace cpu
}  // namespace convolume
