// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses where a deconvolution runs: on the host, on GPUs with all arrays in their memory, or by
// walks of GPUs through arrays in host memory. place() decides, by the traits of the method, the
// memory of GPUs and host, and the lengths that have passes.

#include <memory>
#include <string>

#include "core/gpu_backend.hpp"
#include "deconvolve/loop.hpp"
#include "engines/engines.hpp"

struct CUstream_st;  // CUDA's: a cudaStream_t points to one

namespace convolume::deconvolve {

/// An executor with its plan, for one execution after another.
class Runner {
  public:
    virtual ~Runner() = default;
    virtual const DeconvolvePlan& plan() const = 0;
    virtual DeconvolveReport execute(const DeconvolutionProblem& problem,
                                     const CallerImages& images, const ExecutionContext& context,
                                     const DeconvolveRun& run_options) = 0;
    /// Memory for transforms that others may share; null where there is none.
    virtual std::shared_ptr<DeviceWorkspace> workspace() const { return nullptr; }
};

/// Chooses executor and place for a problem, and makes it: of those that fit, the fastest. Where a
/// GPU was allowed and could not hold it, `why_not_on_device` says why. Throws OutOfMemory where it
/// fits nowhere.
std::unique_ptr<Runner> place(const DeconvolutionProblem& problem, const EngineChoice& choice,
                              std::string& why_not_on_device);
/// The same on GPUs alone; with a workspace, unless that is null, on its GPU. Throws OutOfMemory.
std::unique_ptr<Runner> place_on_gpus(const DeconvolutionProblem& problem,
                                      const EngineChoice& choice,
                                      std::shared_ptr<DeviceWorkspace> workspace);

/// Whether passes along x can take its ratios and steps, which look at one voxel at a time.
inline bool fits_fused_passes(const DeconvolutionProblem& problem) {
    return problem.traits.fits_passes && !problem.traits.uses_neighbors;
}

/// On the CPU by passes over spectra; null where the method or the engines have none, where they do
/// not fit, or where direct sums are faster.
std::unique_ptr<Runner> make_host_pass_runner(const DeconvolutionProblem& problem,
                                              const EngineChoice& choice,
                                              const EngineList& engines);
/// Over arrays in host memory, on any engines. Throws OutOfMemory.
std::unique_ptr<Runner> make_host_array_runner(const DeconvolutionProblem& problem,
                                               const EngineList& engines, int threads);

/// GPUs, and what may be taken of them.
class GpuChoice {
  public:
    virtual ~GpuChoice() = default;
    virtual bool has_several() const = 0;
    /// Number of GPUs for which slabs of planes pay: all that the caller has named.
    virtual index_t wanted_slabs(const DeconvolutionProblem& problem) const = 0;
};

/// An image and a result in the memory of a GPU, contiguous, of the problem's image shape.
struct DevicePixels {
    int device = 0;
    const void* image = nullptr;
    PixelType image_type = PixelType::float32;
    void* result = nullptr;
    PixelType result_type = PixelType::float32;
    CUstream_st* stream = nullptr;  ///< whose work comes first
};

/// Functions of the CUDA part. Runners are null where method, edges or lengths do not fit them, and
/// throw OutOfMemory where their arrays do not.
struct DeviceDeconvolution {
    using Make = std::unique_ptr<Runner> (*)(const DeconvolutionProblem&, const GpuChoice&);

    std::unique_ptr<GpuChoice> (*choose)(const EngineChoice& choice,
                                         std::shared_ptr<DeviceWorkspace> workspace);
    Make passes_in_slabs;  ///< fused passes, in slabs on one GPU or several
    Make arrays_in_slabs;  ///< operations over arrays, in slabs on several GPUs
    Make arrays_on_one;    ///< operations over arrays on one GPU
    std::unique_ptr<Runner> (*walks)(const DeconvolutionProblem&, const GpuChoice&,
                                     const std::string& why_not_resident);
    std::unique_ptr<CallerImages> (*make_images)(const DevicePixels& pixels, const Shape3& shape);
};

/// Null in a build without CUDA.
const DeviceDeconvolution* device_deconvolution();

}  // namespace convolume::deconvolve

/// In the CUDA part, like convolume_cuda_backend (core/gpu_backend.hpp).
extern "C" const convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve;
