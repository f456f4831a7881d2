// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "deconvolve/gpu_runner.cuh"
#include "deconvolve/pass_problem.hpp"
#include "deconvolve/pass_steps.cuh"

namespace convolume::deconvolve {

namespace {

// A GPU more is worth its copies of neighbors' planes.
constexpr index_t least_part_voxels = index_t{1} << 26;

struct Division {
    std::vector<PlanePart> parts;
    index_t grid = 0;  ///< along z; 0: no such length
};

Division divide(const gpu::PairAxis& z, index_t parts, int device) {
    Division division;
    division.parts = divide_planes(z, parts);
    division.grid = gpu::pair_grid_z(device, least_grid(z, division.parts));
    return division;
}

class PassRunner final : public GpuRunner {
  public:
    PassRunner(const Problem& problem, const DeviceChoice& choice, gpu::PairAxes axes,
               const Division& division)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        axes[0].grid = division.grid;
        const Volume taps = normalized_taps(problem.psf, axes[2].taps);
        const std::vector<int> devices(
            choice.devices.begin(),
            choice.devices.begin() + static_cast<std::ptrdiff_t>(division.parts.size()));
        std::vector<index_t> limits;
        for (const int device : devices) {
            const gpu::DeviceScope there(device);
            limits.push_back(choice.limit_bytes(device));
        }
        steps_ = std::make_unique<PassSteps>(problem, axes, division.parts, taps.view(), devices,
                                             limits, choice.threads);
        plan_.engines.clear();
        for (const int device : devices)
            plan_.engines += message(plan_.engines.empty() ? "" : " ", "gpu:", device);
        plan_.grid = {axes[0].grid, axes[1].grid, axes[2].grid};
        plan_.array_bytes = steps_->array_bytes();
        plan_.device_bytes = steps_->most_bytes();
    }
    ~PassRunner() override { free_on_device(steps_); }

  private:
    DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                   const ExecutionContext& context,
                                   const DeconvolveRun& along) override {
        return run(*steps_, problem, images, context, along);
    }

    std::unique_ptr<PassSteps> steps_;
};

}  // namespace

std::unique_ptr<Runner> make_pass_runner(const Problem& problem, const DeviceChoice& choice) {
    const int device = choice.devices.front();
    const gpu::DeviceScope scope(device);
    const auto axes = pass_axes(problem, device);
    if (!axes) return nullptr;
    const gpu::PairAxis& z = (*axes)[0];
    const auto most = std::min(static_cast<index_t>(choice.devices.size()), z.object);
    // As many GPUs as are named, or as are worth it; more where it does not fit these.
    const index_t worth =
        std::clamp<index_t>(element_count(problem.object) / least_part_voxels, 1, most);
    bool any = false;
    std::string why;
    for (index_t parts = choice.named ? most : worth; parts <= most; ++parts) {
        const Division division = divide(z, parts, device);
        if (division.grid == 0) continue;
        any = true;
        try {
            return std::make_unique<PassRunner>(problem, choice, *axes, division);
        } catch (const OutOfMemory& error) {
            why = error.what();
        }
    }
    if (any) throw OutOfMemory(why);
    return nullptr;
}

}  // namespace convolume::deconvolve
