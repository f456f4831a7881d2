// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop on one kind of arrays: in host memory, around Convolver, or in a GPU's, around
// DeviceConvolver.

#include <memory>

#include "core/gpu_backend.hpp"
#include "deconvolve/run.hpp"

struct CUstream_st;  // CUDA's: a cudaStream_t points to one

namespace convolume::deconvolve {

class Runner {
  public:
    virtual ~Runner() = default;
    virtual const DeconvolvePlan& plan() const = 0;
    virtual DeconvolveReport execute(const Problem& problem, const Images& images,
                                     const ExecutionContext& context,
                                     const DeconvolveRun& along) = 0;
    /// What others may share; null where there is none.
    virtual std::shared_ptr<DeviceWorkspace> workspace() const { return nullptr; }
};

/// Throws OutOfMemory where arrays and convolutions do not fit the host's memory.
std::unique_ptr<Runner> make_host_runner(const Problem& problem, const EngineChoice& choice);

/// An image and a result in the memory of a GPU, contiguous, of the problem's image shape.
struct DevicePixels {
    int device = 0;
    const void* image = nullptr;
    PixelType image_type = PixelType::float32;
    void* result = nullptr;
    PixelType result_type = PixelType::float32;
    CUstream_st* stream = nullptr;  ///< whose work comes first
};

/// What the CUDA part offers.
struct DeviceDeconvolution {
    /// On the chosen GPUs; with a workspace, unless that is null, on its GPU alone. Throws
    /// OutOfMemory where the arrays do not fit.
    std::unique_ptr<Runner> (*make_runner)(const Problem& problem, const EngineChoice& choice,
                                           std::shared_ptr<DeviceWorkspace> workspace);
    std::unique_ptr<Images> (*make_images)(const DevicePixels& pixels, const Shape3& shape);
};

}  // namespace convolume::deconvolve

/// In the CUDA part, like convolume_cuda_backend (core/gpu_backend.hpp).
extern "C" const convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve;
