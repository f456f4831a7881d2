// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/host_memory.hpp"
#include "deconvolve/gpu_runner.cuh"
#include "deconvolve/pass_problem.hpp"
#include "deconvolve/plane_parts.hpp"
#include "deconvolve/walk_steps.cuh"

namespace convolume::deconvolve {

namespace {

struct WalkDepth {
    gpu::PairAxes axes;  ///< with the grid along z
    index_t depth = 0;   ///< 0: nothing fits
};

index_t pass_bytes(const Problem& problem, const gpu::PairAxes& axes, index_t depth) {
    return gpu::PlanePasses::least_bytes(axes, PlaneWalk::ring(axes[0], depth),
                                         problem.has_unmatched() ? 2 : 1,
                                         WalkerRings::spectra(problem));
}

// Steps as deep as the memory of each GPU allows, but so many that the first and the last, whose
// transfers nothing hides, are few of them.
WalkDepth deepest_walk(const Problem& problem, gpu::PairAxes axes, index_t limit, int device) {
    gpu::PairAxis& z = axes[0];
    constexpr index_t wanted_steps = 8;
    index_t depth =
        std::clamp<index_t>(ceil_div(z.object, wanted_steps), std::min(z.taps, z.object), z.object);
    for (; depth > 0; depth -= std::max<index_t>(1, depth / 8)) {
        z.grid = gpu::pair_grid_z(device, PlaneWalk::least_grid(z, depth));
        if (z.grid == 0) continue;
        const index_t rings = WalkerRings(problem, z, depth).bytes();
        const index_t passes = pass_bytes(problem, axes, depth);
        if (checked_add(rings, passes) <= limit) return {axes, depth};
    }
    return {axes, 0};
}

// Of the others, samples are worked on between passes, as float32.
bool compares_in_passes(const Problem& problem) {
    return has_pass_steps(problem) ||
           problem.options.method == DeconvolveMethod::richardson_lucy_tv;
}

class WalkRunner final : public GpuRunner {
  public:
    WalkRunner(const Problem& problem, const DeviceChoice& choice, const WalkDepth& depth_of_walk,
               const std::vector<index_t>& limits, const std::string& why_not_resident)
        : GpuRunner(problem, choice.devices.front()),
          walk_(depth_of_walk),
          kernels_(problem, depth_of_walk.axes),
          threads_(choice.threads) {
        const gpu::PairAxis& z = walk_.axes[0];
        const auto parts = divide_planes(
            z, choice.speeds(std::min(static_cast<index_t>(choice.devices.size()), z.object)));
        plan_.on_device = false;
        plan_.by_walks = true;
        plan_.why_not_on_device = why_not_resident;
        plan_.engines.clear();
        for (std::size_t g = 0; g < parts.size(); ++g) {
            Walker::Place place;
            place.device = choice.devices[g];
            place.object = parts[g].object;
            place.image = parts[g].image;
            place.depth = walk_.depth;
            place.limit_bytes = limits[g];
            places_.push_back(place);
            plan_.engines += message(g == 0 ? "" : " ", "gpu:", place.device);
        }
        plan_.grid = {z.grid, walk_.axes[1].grid, walk_.axes[2].grid};
        plan_.array_bytes = WalkArrays::bytes(problem, z);
        plan_.device_bytes = WalkerRings(problem, z, walk_.depth).bytes() +
                             pass_bytes(problem, walk_.axes, walk_.depth);
        plan_.host_bytes += plan_.array_bytes;
    }
    ~WalkRunner() override { free_on_device(steps_); }

  private:
    DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                   const ExecutionContext& context,
                                   const DeconvolveRun& along) override {
        const bool narrow = compares_in_passes(problem) && fits_uint16(problem, images.type());
        if (steps_ && steps_->narrow() != narrow) steps_.reset();
        if (!steps_)
            steps_ = std::make_unique<WalkSteps>(problem, walk_.axes, kernels_.views(), places_,
                                                 narrow, threads_);
        return run(*steps_, problem, images, context, along);
    }

    WalkDepth walk_;
    PassKernels kernels_;
    int threads_;
    std::vector<Walker::Place> places_;
    std::unique_ptr<WalkSteps> steps_;
};

}  // namespace

std::unique_ptr<Runner> make_walk_runner(const Problem& problem, const DeviceChoice& choice,
                                         const std::string& why_not_resident) {
    const int device = choice.devices.front();
    const gpu::DeviceScope scope(device);
    // A total variation looks at the plane behind each.
    const bool smooth = problem.options.method == DeconvolveMethod::richardson_lucy_tv;
    const auto axes = pass_axes(problem, device, smooth ? 2 : 1);
    if (!axes) return nullptr;
    std::vector<index_t> limits;
    for (const int each : choice.devices) {
        const gpu::DeviceScope there(each);
        limits.push_back(choice.limit_bytes(each));
    }
    const WalkDepth depth_of_walk =
        deepest_walk(problem, *axes, *std::min_element(limits.begin(), limits.end()), device);
    if (depth_of_walk.depth == 0) return nullptr;
    const index_t host_limit =
        problem.options.max_host_bytes.value_or(available_host_bytes() / 4 * 3);
    const index_t host = checked_add(
        WalkArrays::bytes(problem, depth_of_walk.axes[0]),
        checked_multiply(2 * static_cast<index_t>(sizeof(float)), element_count(problem.image)));
    if (host > host_limit) return nullptr;
    return std::make_unique<WalkRunner>(problem, choice, depth_of_walk, limits, why_not_resident);
}

}  // namespace convolume::deconvolve
