// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "convolume/device_convolver.hpp"
#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/device_array_memory.cuh"
#include "deconvolve/executors/gpu_runner.cuh"
#include "deconvolve/executors/pass_problem.hpp"
#include "deconvolve/executors/slabs.cuh"
#include "deconvolve/problem.hpp"

// Runners whose arrays stay in the memory of GPUs.
namespace convolume::deconvolve {

class DeviceArrays : public DeviceArrayMemory {
  public:
    /// `device` is current. The convolvers are kept by reference; `unmatched` may be null.
    DeviceArrays(int device, const DeconvolutionProblem& problem, DeviceConvolver& blur,
                 DeviceConvolver& back, int threads, DeviceConvolver* unmatched)
        : DeviceArrayMemory(device, problem, threads),
          blur_(blur),
          back_(back),
          unmatched_(unmatched) {}

    void blur(const float* object, float* image) { blur_.execute(object, image, stream()); }
    void blur_back(const float* image, float* object) { back_.execute(image, object, stream()); }
    void back_project_unmatched(const float* image, float* object) {
        unmatched_->execute(image, object, stream());
    }

  private:
    DeviceConvolver& blur_;
    DeviceConvolver& back_;
    DeviceConvolver* unmatched_;
};

namespace {

struct SlabDivision {
    std::vector<SlabPlanes> slabs;
    index_t grid = 0;  ///< length of transforms along z; 0: none fits
};

SlabDivision divide_into_slabs(const PairAxis& z, const std::vector<double>& speeds, int device) {
    SlabDivision division;
    division.slabs = divide_planes(z, speeds);
    division.grid = pair_grid_z(device, least_grid(z, division.slabs));
    return division;
}

// `Slabs` is an executor of passes, or arrays for an ArrayExecutor.
template <class Slabs>
class SlabRunner final : public GpuRunner {
  public:
    SlabRunner(const DeconvolutionProblem& problem, const DeviceChoice& choice, PairAxes axes,
               const SlabDivision& division)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        axes[0].grid = division.grid;
        std::vector<SlabSetup> setups;
        for (std::size_t g = 0; g < division.slabs.size(); ++g) {
            const gpu::DeviceScope there(choice.devices[g]);
            setups.push_back({choice.devices[g], choice.limit_bytes(choice.devices[g])});
        }
        if (choice.workspace)
            setups.front().workspace = gpu::Workspace::shared_or_new(choice.workspace, device_);
        slabs_ = std::make_unique<Slabs>(problem, axes, division.slabs, pass_kernels(problem),
                                         setups, choice.threads);
        plan_.engines.clear();
        for (const SlabSetup& setup : setups)
            plan_.engines += message(plan_.engines.empty() ? "" : " ", "gpu:", setup.device);
        plan_.grid = {axes[0].grid, axes[1].grid, axes[2].grid};
        plan_.array_bytes = slabs_->array_bytes();
        plan_.device_bytes = slabs_->most_bytes();
    }
    ~SlabRunner() override { this->free_on_device(slabs_); }

    std::shared_ptr<DeviceWorkspace> workspace() const override { return slabs_->workspace(); }

  private:
    Executor& executor(const DeconvolutionProblem& problem) override {
        if constexpr (std::is_base_of_v<Executor, Slabs>) {
            return *slabs_;
        } else {
            over_arrays_ = std::make_unique<ArrayExecutor<Slabs>>(*slabs_, problem);
            return *over_arrays_;
        }
    }

    std::unique_ptr<Slabs> slabs_;
    /// Executor over the arrays in slabs; null if the slabs are an executor.
    std::unique_ptr<Executor> over_arrays_;
};

// Makes a runner with `count` slabs, or with more if these do not fit. Returns null if there are no
// passes of the lengths, and throws OutOfMemory if no number of slabs fits.
template <class Slabs>
std::unique_ptr<Runner> in_slabs(const DeconvolutionProblem& problem, const DeviceChoice& choice,
                                 const PairAxes& axes, index_t count) {
    std::string why;
    bool any = false;
    for (; count <= choice.most_slabs(problem); ++count) {
        const SlabDivision division =
            divide_into_slabs(axes[0], choice.speeds(count), choice.devices.front());
        if (division.grid == 0) continue;
        any = true;
        try {
            return std::make_unique<SlabRunner<Slabs>>(problem, choice, axes, division);
        } catch (const OutOfMemory& error) {
            why = error.what();
        }
    }
    if (any) throw OutOfMemory(why, MemoryKind::gpu);
    return nullptr;
}

// Number of about equal shares of memory that convolvers take: a workspace for all of them, and a
// kernel's spectrum for each.
index_t workspace_shares(const DeconvolutionProblem& problem) {
    return problem.traits.has_unmatched ? 4 : 3;
}

class ArrayRunner final : public GpuRunner {
  public:
    ArrayRunner(const DeconvolutionProblem& problem, const DeviceChoice& choice)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        const index_t limit = choice.limit_bytes(device_);
        const index_t arrays = array_bytes(problem);
        check_gpu_arrays("the arrays", arrays, limit);
        const index_t rest = limit - arrays;
        const index_t part = rest / workspace_shares(problem);
        blur_.emplace(make(problem, problem.psf, Operation::convolve, part * 2,
                           WorkspaceOf(choice.workspace)));
        index_t left = rest - blur_->device_bytes();
        back_.emplace(make(problem, problem.psf, Operation::adjoint,
                           problem.traits.has_unmatched ? left / 2 : left, &*blur_));
        left -= back_->device_bytes();
        if (problem.traits.has_unmatched)
            unmatched_.emplace(make(problem, problem.unmatched, Operation::adjoint, left, &*blur_));
        arrays_.emplace(device_, problem, *blur_, *back_, choice.threads,
                        unmatched_ ? &*unmatched_ : nullptr);

        plan_.grid = blur_->grid();
        plan_.array_bytes = arrays;
        plan_.device_bytes = arrays + blur_->device_bytes() + back_->device_bytes() +
                             (unmatched_ ? unmatched_->device_bytes() : 0);
    }
    ~ArrayRunner() override { free_on_device(arrays_); }

    std::shared_ptr<DeviceWorkspace> workspace() const override {
        return WorkspaceOf(&*blur_).get();
    }

  private:
    Executor& executor(const DeconvolutionProblem& problem) override {
        return executor_.emplace(*arrays_, problem);
    }

    DeviceConvolver make(const DeconvolutionProblem& problem, const Volume& taps,
                         Operation operation, index_t limit,
                         const WorkspaceOf& workspace_of) const {
        DeviceOptions on_device;
        on_device.device = device_;
        on_device.max_gpu_bytes = limit;
        on_device.workspace_of = workspace_of;
        return DeviceConvolver(problem.object, taps.view(), problem.blur(operation), on_device);
    }

    std::optional<DeviceArrays> arrays_;
    std::optional<ArrayExecutor<DeviceArrays>> executor_;
    std::optional<DeviceConvolver> blur_;
    std::optional<DeviceConvolver> back_;
    std::optional<DeviceConvolver> unmatched_;
};

const DeviceChoice& device_choice(const GpuChoice& gpus) {
    return static_cast<const DeviceChoice&>(gpus);
}

std::unique_ptr<GpuChoice> choose_gpus(const EngineChoice& choice,
                                       std::shared_ptr<DeviceWorkspace> workspace) {
    return std::make_unique<DeviceChoice>(choice, std::move(workspace));
}

std::unique_ptr<Runner> make_pass_runner(const DeconvolutionProblem& problem,
                                         const GpuChoice& gpus) {
    const DeviceChoice& choice = device_choice(gpus);
    const gpu::DeviceScope scope(choice.devices.front());
    const auto axes = whole_plane_axes(problem, choice.devices.front());
    if (!axes) return nullptr;
    return in_slabs<SlabExecutor>(problem, choice, *axes, choice.wanted_slabs(problem));
}

std::unique_ptr<Runner> make_array_slab_runner(const DeconvolutionProblem& problem,
                                               const GpuChoice& gpus) {
    const DeviceChoice& choice = device_choice(gpus);
    if (!gpu::SpreadMemory::is_possible(choice.devices)) return nullptr;
    const gpu::DeviceScope scope(choice.devices.front());
    const auto axes = whole_plane_axes(problem, choice.devices.front());
    if (!axes) return nullptr;
    // Convolvers over the arrays of one GPU are faster, but have one PSF.
    const index_t least = problem.psf_varies() ? 1 : 2;
    const index_t count = std::max(least, choice.wanted_slabs(problem));
    return in_slabs<SlabArrays>(problem, choice, *axes, count);
}

std::unique_ptr<Runner> make_array_runner(const DeconvolutionProblem& problem,
                                          const GpuChoice& gpus) {
    return std::make_unique<ArrayRunner>(problem, device_choice(gpus));
}

}  // namespace

}  // namespace convolume::deconvolve

constexpr convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve = {
    convolume::deconvolve::choose_gpus,
    convolume::deconvolve::make_pass_runner,
    convolume::deconvolve::make_array_slab_runner,
    convolume::deconvolve::make_array_runner,
    convolume::deconvolve::make_walk_runner,
    convolume::deconvolve::make_view_runner,
    convolume::deconvolve::make_device_images};
