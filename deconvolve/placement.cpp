// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/placement.hpp"

#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"

#if CONVOLUME_HAVE_CUDA
// A weak reference: null if the linker has left the CUDA part out.
extern "C" [[gnu::weak]] const convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve;
#endif

namespace convolume::deconvolve {

const DeviceDeconvolution* device_deconvolution() {
#if CONVOLUME_HAVE_CUDA
    return &convolume_cuda_deconvolve;
#else
    return nullptr;
#endif
}

std::unique_ptr<Runner> place_on_gpus(const DeconvolutionProblem& problem,
                                      const EngineChoice& choice,
                                      std::shared_ptr<DeviceWorkspace> workspace) {
    const DeviceDeconvolution& device = *device_deconvolution();
    const auto gpus = device.choose(choice, std::move(workspace));
    try {
        // Passes need the fewest arrays: if these do not fit, no other arrays do.
        if (fits_fused_passes(problem))
            if (auto runner = device.passes_in_slabs(problem, *gpus)) return runner;
        const bool one_only = problem.options.has_pixel_weights;
        if (problem.psf_varies() && one_only)
            throw OutOfMemory(
                "a PSF that varies with depth and weights of pixels are computed on "
                "the CPU",
                MemoryKind::gpu);
        if (!one_only &&
            (problem.psf_varies() || (gpus->has_several() && gpus->wanted_slabs(problem) > 1)))
            if (auto runner = device.arrays_in_slabs(problem, *gpus)) return runner;
        if (problem.psf_varies())
            throw OutOfMemory(
                "passes on a GPU, which a PSF that varies with depth needs, do not "
                "have transforms of these lengths",
                MemoryKind::gpu);
        try {
            return device.arrays_on_one(problem, *gpus);
        } catch (const OutOfMemory&) {
            if (gpus->has_several() && !one_only)
                if (auto runner = device.arrays_in_slabs(problem, *gpus)) return runner;
            throw;
        }
    } catch (const OutOfMemory& error) {
        if (problem.traits.fits_walks() && !problem.options.has_pixel_weights)
            if (auto runner = device.walks(problem, *gpus, error.what())) return runner;
        throw;
    }
}

std::unique_ptr<Runner> place(const DeconvolutionProblem& problem, const EngineChoice& choice,
                              std::string& why_not_on_device) {
    if (device_deconvolution() != nullptr && choice.device != EngineChoice::Device::cpu &&
        gpu_unavailable().empty()) {
        try {
            return place_on_gpus(problem, choice, nullptr);
        } catch (const OutOfMemory& error) {
            why_not_on_device = error.what();
        }
    }
    const EngineList engines = make_engines(choice);
    if (problem.psf_varies()) return make_host_depth_runner(problem, choice, engines);
    const bool fits_host_passes = steps_by_voxel(problem) && !problem.traits.has_unmatched;
    if (fits_host_passes)
        if (auto runner = make_host_pass_runner(problem, choice, engines)) return runner;
    return make_host_array_runner(problem, engines, thread_count(choice.threads));
}

}  // namespace convolume::deconvolve
