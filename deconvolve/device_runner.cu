// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "deconvolve/array_steps.hpp"
#include "deconvolve/device_arrays.cuh"
#include "deconvolve/device_images.hpp"
#include "deconvolve/gpu_runner.cuh"

namespace convolume::deconvolve {

namespace {

// Convolvers with a workspace for all hold it and a kernel's spectrum each, all about as large.
index_t parts_of(const Problem& problem) {
    return problem.has_unmatched() ? 4 : 3;
}

class DeviceRunner final : public GpuRunner {
  public:
    DeviceRunner(const Problem& problem, const DeviceChoice& choice)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        const index_t limit = choice.limit_bytes(device_);
        const index_t arrays = array_bytes(problem);
        if (arrays >= limit)
            throw OutOfMemory(message("the arrays take ", format_bytes(arrays), " of the ",
                                      format_bytes(limit), " that a GPU may hold"),
                              MemoryKind::gpu);
        const index_t rest = limit - arrays;
        const index_t part = rest / parts_of(problem);
        blur_.emplace(make(problem, problem.psf, Operation::convolve, part * 2,
                           WorkspaceOf(choice.workspace)));
        index_t left = rest - blur_->device_bytes();
        back_.emplace(make(problem, problem.psf, Operation::adjoint,
                           problem.has_unmatched() ? left / 2 : left, &*blur_));
        left -= back_->device_bytes();
        if (problem.has_unmatched())
            unmatched_.emplace(make(problem, problem.unmatched, Operation::adjoint, left, &*blur_));
        arrays_.emplace(device_, problem, *blur_, *back_, choice.threads,
                        unmatched_ ? &*unmatched_ : nullptr);

        plan_.grid = blur_->grid();
        plan_.array_bytes = arrays;
        plan_.device_bytes = arrays + blur_->device_bytes() + back_->device_bytes() +
                             (unmatched_ ? unmatched_->device_bytes() : 0);
    }
    ~DeviceRunner() override { free_on_device(arrays_); }

    std::shared_ptr<DeviceWorkspace> workspace() const override {
        return WorkspaceOf(&*blur_).get();
    }

  private:
    DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                   const ExecutionContext& context,
                                   const DeconvolveRun& along) override {
        ArraySteps<DeviceArrays> steps(*arrays_, problem);
        return run(steps, problem, images, context, along);
    }

    DeviceConvolver make(const Problem& problem, const Volume& taps, Operation operation,
                         index_t limit, const WorkspaceOf& workspace_of) const {
        DeviceOptions on_device;
        on_device.device = device_;
        on_device.max_gpu_bytes = limit;
        on_device.workspace_of = workspace_of;
        return DeviceConvolver(problem.object, taps.view(), problem.blur(operation), on_device);
    }

    std::optional<DeviceArrays> arrays_;
    std::optional<DeviceConvolver> blur_;
    std::optional<DeviceConvolver> back_;
    std::optional<DeviceConvolver> unmatched_;
};

// In the memory of GPUs, of one where that is enough.
std::unique_ptr<Runner> make_resident_runner(const Problem& problem, const DeviceChoice& choice) {
    if (auto by_passes = make_pass_runner(problem, choice)) return by_passes;
    const bool several = choice.devices.size() > 1;
    if (several && wanted_parts(problem, choice) > 1)
        if (auto in_slabs = make_array_slab_runner(problem, choice)) return in_slabs;
    try {
        return std::make_unique<DeviceRunner>(problem, choice);
    } catch (const OutOfMemory&) {
        if (several)
            if (auto in_slabs = make_array_slab_runner(problem, choice)) return in_slabs;
        throw;
    }
}

std::unique_ptr<Runner> make_device_runner(const Problem& problem, const EngineChoice& choice,
                                           std::shared_ptr<DeviceWorkspace> workspace) {
    const DeviceChoice on_device(choice, std::move(workspace));
    try {
        if (auto resident = make_resident_runner(problem, on_device)) return resident;
    } catch (const OutOfMemory& error) {
        if (auto by_walks = make_walk_runner(problem, on_device, error.what())) return by_walks;
        throw;
    }
    throw InternalError("there is no way to deconvolve on a GPU");
}

}  // namespace

}  // namespace convolume::deconvolve

constexpr convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve = {
    convolume::deconvolve::make_device_runner, convolume::deconvolve::make_device_images};
