// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "deconvolve/array_steps.hpp"
#include "deconvolve/gpu_runner.cuh"
#include "deconvolve/pass_problem.hpp"
#include "deconvolve/pass_steps.cuh"
#include "deconvolve/slab_arrays.cuh"

namespace convolume::deconvolve {

namespace {

// A GPU more is worth its copies of neighbors' planes.
constexpr index_t least_part_voxels = index_t{1} << 26;

index_t most_parts(const Problem& problem, const DeviceChoice& choice) {
    return std::min(static_cast<index_t>(choice.devices.size()), problem.object.z);
}

struct Division {
    std::vector<PlanePart> parts;
    index_t grid = 0;  ///< along z; 0: no such length
};

Division divide(const gpu::PairAxis& z, const std::vector<double>& speeds, int device) {
    Division division;
    division.parts = divide_planes(z, speeds);
    division.grid = gpu::pair_grid_z(device, least_grid(z, division.parts));
    return division;
}

// `Slabs`: the steps of passes, or arrays for the steps of any method.
template <class Slabs>
class SlabRunner final : public GpuRunner {
  public:
    SlabRunner(const Problem& problem, const DeviceChoice& choice, gpu::PairAxes axes,
               const Division& division)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        axes[0].grid = division.grid;
        const PassKernels kernels(problem, axes);
        std::vector<SlabPlace> places;
        for (std::size_t g = 0; g < division.parts.size(); ++g) {
            const gpu::DeviceScope there(choice.devices[g]);
            places.push_back({choice.devices[g], choice.limit_bytes(choice.devices[g])});
        }
        if (choice.workspace)
            places.front().workspace = gpu::Workspace::shared_or_new(choice.workspace, device_);
        slabs_ = std::make_unique<Slabs>(problem, axes, division.parts, kernels.views(), places,
                                         choice.threads);
        plan_.engines.clear();
        for (const SlabPlace& place : places)
            plan_.engines += message(plan_.engines.empty() ? "" : " ", "gpu:", place.device);
        plan_.grid = {axes[0].grid, axes[1].grid, axes[2].grid};
        plan_.array_bytes = slabs_->array_bytes();
        plan_.device_bytes = slabs_->most_bytes();
    }
    ~SlabRunner() override { this->free_on_device(slabs_); }

    std::shared_ptr<DeviceWorkspace> workspace() const override { return slabs_->workspace(); }

  private:
    DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                   const ExecutionContext& context,
                                   const DeconvolveRun& along) override {
        if constexpr (std::is_base_of_v<Steps, Slabs>) {
            return run(*slabs_, problem, images, context, along);
        } else {
            ArraySteps<Slabs> steps(*slabs_, problem);
            return run(steps, problem, images, context, along);
        }
    }

    std::unique_ptr<Slabs> slabs_;
};

// In so many parts, or in more where these do not fit; null where lengths have no passes. Throws
// OutOfMemory where nothing fits.
template <class Slabs>
std::unique_ptr<Runner> in_slabs(const Problem& problem, const DeviceChoice& choice,
                                 const gpu::PairAxes& axes, index_t parts) {
    std::string why;
    bool any = false;
    for (; parts <= most_parts(problem, choice); ++parts) {
        const Division division = divide(axes[0], choice.speeds(parts), choice.devices.front());
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

}  // namespace

index_t wanted_parts(const Problem& problem, const DeviceChoice& choice) {
    const index_t most = most_parts(problem, choice);
    if (choice.named) return most;
    return std::clamp<index_t>(element_count(problem.object) / least_part_voxels, 1, most);
}

std::unique_ptr<Runner> make_pass_runner(const Problem& problem, const DeviceChoice& choice) {
    const gpu::DeviceScope scope(choice.devices.front());
    const auto axes = whole_plane_axes(problem, choice.devices.front());
    if (!axes || !has_pass_steps(problem)) return nullptr;
    return in_slabs<PassSteps>(problem, choice, *axes, wanted_parts(problem, choice));
}

std::unique_ptr<Runner> make_array_slab_runner(const Problem& problem, const DeviceChoice& choice) {
    if (!gpu::SpreadMemory::possible(choice.devices)) return nullptr;
    const gpu::DeviceScope scope(choice.devices.front());
    const auto axes = whole_plane_axes(problem, choice.devices.front());
    if (!axes) return nullptr;
    const index_t parts = std::max<index_t>(2, wanted_parts(problem, choice));
    return in_slabs<SlabArrays>(problem, choice, *axes, parts);
}

}  // namespace convolume::deconvolve
