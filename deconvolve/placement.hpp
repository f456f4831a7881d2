// SPDX-License-Identifier: Apache-2.0
#pragma once
// Placement of a deconvolution: on the host, on GPUs with all arrays in their memory, or on GPUs
// that walk through arrays in host memory. place() decides by the method's traits, the free memory
// of GPUs and host, and the lengths for which there are passes.

#include <memory>
#include <string>

#include "convolume/forward_model.hpp"
#include "core/gpu_backend.hpp"
#include "deconvolve/loop.hpp"
#include "deconvolve/views/view_scales.hpp"
#include "engines/engines.hpp"
#include "forward/view_sampling.hpp"

struct CUstream_st;  // CUDA's type: a cudaStream_t is a pointer to it

namespace convolume::deconvolve {

/// An executor and its plan, for one execution after another.
class Runner {
  public:
    virtual ~Runner() = default;
    const DeconvolvePlan& plan() const { return plan_; }
    virtual DeconvolveReport execute(const DeconvolutionProblem& problem, CallerImages& images,
                                     const ExecutionContext& context,
                                     const DeconvolveRun& run_options) = 0;
    /// Returns memory for transforms that other objects may share, or null.
    virtual std::shared_ptr<DeviceWorkspace> workspace() const { return nullptr; }

  protected:
    DeconvolvePlan plan_;
};

/// Makes the fastest runner that fits. If GPUs are allowed but none can hold the problem,
/// `why_not_on_device` gets the reason. Throws OutOfMemory if the problem fits nowhere.
std::unique_ptr<Runner> place(const DeconvolutionProblem& problem, const EngineChoice& choice,
                              std::string& why_not_on_device);
/// Makes the fastest runner that fits on GPUs. A workspace that is not null is used, on its GPU.
/// Throws OutOfMemory.
std::unique_ptr<Runner> place_on_gpus(const DeconvolutionProblem& problem,
                                      const EngineChoice& choice,
                                      std::shared_ptr<DeviceWorkspace> workspace);

/// Whether the method's ratios and steps depend on one pixel or voxel each.
inline bool steps_by_voxel(const DeconvolutionProblem& problem) {
    return problem.traits.fits_passes && problem.traits.penalty == NeighborPenalty::none;
}
/// Whether passes along x can compute the ratios and steps of one image.
inline bool fits_fused_passes(const DeconvolutionProblem& problem) {
    return steps_by_voxel(problem) && !problem.options.has_pixel_weights;
}

/// A view with one PSF as a problem of its own, and its place in the object of all.
struct RecordedView {
    const DeconvolutionProblem& problem;
    forward::ViewSampling sampling;
};

/// Makes a runner on the CPU by passes over spectra. Returns null if the method or the engines have
/// no passes, if they do not fit in memory, or if direct sums are faster.
std::unique_ptr<Runner> make_host_pass_runner(const DeconvolutionProblem& problem,
                                              const EngineChoice& choice,
                                              const EngineList& engines);
/// Makes such a runner for several views, which change the estimate together. The scales are kept
/// by reference; `image_bytes` are those of the caller's images.
std::unique_ptr<Runner> make_host_view_runner(const DeconvolutionProblem& problem,
                                              const std::vector<RecordedView>& views,
                                              const ViewScales& scales, index_t image_bytes,
                                              const EngineChoice& choice);
/// Makes a runner on the CPU for a PSF that varies with depth. Throws OutOfMemory, or
/// InvalidArgument if no engine is a CPU.
std::unique_ptr<Runner> make_host_depth_runner(const DeconvolutionProblem& problem,
                                               const EngineChoice& choice,
                                               const EngineList& engines);
/// Makes a runner over arrays in host memory, with any engines. Throws OutOfMemory.
std::unique_ptr<Runner> make_host_array_runner(const DeconvolutionProblem& problem,
                                               const EngineList& engines, int threads);

/// The chosen GPUs, and the memory that may be used on each.
class GpuChoice {
  public:
    virtual ~GpuChoice() = default;
    virtual bool has_several() const = 0;
    /// Returns the number of GPUs for which division into slabs pays: all GPUs that the caller has
    /// named.
    virtual index_t wanted_slabs(const DeconvolutionProblem& problem) const = 0;
};

/// An image and a result in the memory of a GPU, contiguous, of the shape of the problem's image.
struct DevicePixels {
    int device = 0;
    const void* image = nullptr;
    PixelType image_type = PixelType::float32;
    void* result = nullptr;
    PixelType result_type = PixelType::float32;
    CUstream_st* stream = nullptr;  ///< CUDA stream whose earlier work produces the image
};

/// Functions of the CUDA part that make runners. They return null if method, edges or lengths do
/// not fit, and throw OutOfMemory if the arrays do not.
struct DeviceDeconvolution {
    using Make = std::unique_ptr<Runner> (*)(const DeconvolutionProblem&, const GpuChoice&);

    std::unique_ptr<GpuChoice> (*choose)(const EngineChoice& choice,
                                         std::shared_ptr<DeviceWorkspace> workspace);
    Make passes_in_slabs;  ///< fused passes, in slabs on one GPU or several
    Make arrays_in_slabs;  ///< operations over arrays, in slabs on several GPUs
    Make arrays_on_one;    ///< operations over arrays on one GPU
    std::unique_ptr<Runner> (*walks)(const DeconvolutionProblem&, const GpuChoice&,
                                     const std::string& why_not_resident);
    /// Several views with arrays on one GPU: the object of their forward model, the views with
    /// their PSFs, and the scales of their images, which are kept by reference.
    std::unique_ptr<Runner> (*views)(const DeconvolutionProblem&, const GpuChoice&,
                                     const ObjectGrid& object, const std::vector<View>& views,
                                     const ViewScales& scales);
    std::unique_ptr<CallerImages> (*make_images)(const DevicePixels& pixels, const Shape3& shape);
};

/// Returns null in a build without CUDA.
const DeviceDeconvolution* device_deconvolution();

}  // namespace convolume::deconvolve

/// Defined in the CUDA part, as convolume_cuda_backend is (core/gpu_backend.hpp).
extern "C" const convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve;
