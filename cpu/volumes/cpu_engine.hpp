// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine of the host's processor: Fourier transforms, and sums in space for tiny kernels.

#include <memory>
#include <string>

#include "convolume/engines.hpp"
#include "core/engine.hpp"

namespace convolume {

struct CpuEngineOptions {
    std::string name = "cpu";
    int index = 0;  ///< number of the engine on timelines
    int threads = 1;
    /// Bytes that a plan may use on this engine for workspaces and kernels; 0 for no limit. Tests
    /// limit it so that it resembles a small GPU.
    index_t memory_limit_bytes = 0;
    MachineRates rates = machine_rates();
    FftLibrary fft = FftLibrary::automatic;  ///< library of transforms along x
};

/// Makes an engine. Where it uses FFTW, plans are measured once and remembered in the user's cache
/// folder, $XDG_CACHE_HOME/convolume or ~/.cache/convolume.
std::shared_ptr<Engine> make_cpu_engine(const CpuEngineOptions& options);

/// Keeps the FFT plans of a CPU engine as they are, so that its results never change by rounding.
/// Otherwise those of FFTW are measured when they have been used for some seconds. Ignores other
/// engines.
void keep_ffts(Engine& engine);

namespace cpu {

/// A kernel as the CPU engine keeps it, which convolves blocks.
class CpuKernel : public EngineKernel {
  public:
    virtual ExecutionReport convolve(const Block& block, const BlockInput& input,
                                     const BlockOutput& output, char* workspace, int threads,
                                     const ExecutionContext& context) const = 0;
};

}  // namespace cpu
}  // namespace convolume
