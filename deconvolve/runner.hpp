// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop on one kind of arrays: in host memory, around Convolver, or in a GPU's, around
// DeviceConvolver.

#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

class Runner {
  public:
    virtual ~Runner() = default;
    virtual const DeconvolvePlan& plan() const = 0;
    virtual DeconvolveReport execute(const Problem& problem, const ConstImageView& image,
                                     const ImageView& result, const ExecutionContext& context,
                                     const DeconvolveRun& along) = 0;
};

/// Throws OutOfMemory where arrays and convolutions do not fit the host's memory.
std::unique_ptr<Runner> make_host_runner(const Problem& problem, const EngineChoice& choice);

/// All arrays on the first of the chosen GPUs. Throws OutOfMemory where they do not fit.
using MakeDeviceRunner = std::unique_ptr<Runner> (*)(const Problem& problem,
                                                     const EngineChoice& choice);

}  // namespace convolume::deconvolve

/// In the CUDA part, like convolume_cuda_backend (core/gpu_backend.hpp).
extern "C" const convolume::deconvolve::MakeDeviceRunner convolume_cuda_deconvolve;
