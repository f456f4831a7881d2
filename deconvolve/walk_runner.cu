// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/host_memory.hpp"
#include "deconvolve/gpu_runner.cuh"
#include "deconvolve/pass_problem.hpp"
#include "deconvolve/plane_parts.hpp"
#include "deconvolve/walk_prediction.hpp"
#include "deconvolve/walk_steps.cuh"
#include "gpu/runtime/bandwidth.hpp"

namespace convolume::deconvolve {

namespace {

struct WalkDepth {
    gpu::PairAxes axes;    ///< with the grid along z
    index_t depth = 0;     ///< 0: nothing fits
    index_t together = 1;  ///< iterations
};

index_t pass_bytes(const Problem& problem, const WalkDepth& walk) {
    return gpu::PlanePasses::least_bytes(walk.axes, PlaneWalk::ring(walk.axes[0], walk.depth),
                                         problem.has_unmatched() ? 2 : 1,
                                         WalkerRings::spectra(problem, walk.together));
}
index_t device_bytes(const Problem& problem, const WalkDepth& walk) {
    const WalkerRings rings(problem, walk.axes[0], walk.depth, walk.together);
    return checked_add(rings.bytes(), pass_bytes(problem, walk));
}

// Steps as deep as the memory of each GPU allows, but so many that the first and the last, whose
// transfers nothing hides, are few of them.
WalkDepth deepest_walk(const Problem& problem, const gpu::PairAxes& axes, index_t together,
                       index_t limit, int device) {
    WalkDepth walk{axes, 0, together};
    gpu::PairAxis& z = walk.axes[0];
    constexpr index_t wanted_steps = 8;
    walk.depth =
        std::clamp<index_t>(ceil_div(z.object, wanted_steps), std::min(z.taps, z.object), z.object);
    for (; walk.depth > 0; walk.depth -= std::max<index_t>(1, walk.depth / 8)) {
        z.grid = gpu::pair_grid_z(device, PlaneWalk::least_grid(z, walk.depth));
        if (z.grid > 0 && device_bytes(problem, walk) <= limit) break;
    }
    return walk;
}

// Of steps that need nothing of each other but estimates: how many iterations a walk of one GPU may
// take.
index_t most_together(const Problem& problem, const DeviceChoice& choice) {
    const bool alone = choice.devices.size() == 1 || problem.object.z == 1;
    return alone && has_pass_steps(problem) &&
                   momentum_of(problem.options) != Momentum::biggs_andrews
               ? std::min<index_t>(WalkerRings::most_together, problem.options.iterations)
               : 1;
}

double predicted_seconds(const Problem& problem, const WalkDepth& walk, int device) {
    const PlaneBytes plane(problem);
    const gpu::PairAxis& z = walk.axes[0];
    const auto alike = alike_planes(problem, z, z.whole_object());
    const auto objects = static_cast<double>(z.object), images = static_cast<double>(z.image);
    const auto weights = static_cast<double>(z.object - (alike.last - alike.first));
    const auto of_object = static_cast<double>(plane.object);
    const auto of_before = static_cast<double>(plane.before);
    const auto of_data = static_cast<double>(plane.data);
    WalkTraffic traffic;
    traffic.up = objects * (of_object + of_before) + images * of_data + weights * of_object;
    traffic.down = objects * (of_object + (walk.together > 1 ? of_before : 0));
    traffic.arrays = objects * (4 * of_object + of_before) + images * of_data;
    const gpu::TransferRates transfers = gpu::transfer_rates(device);
    const double memory = gpu::device_facts(device).memory_bytes_per_s;
    const double spectrum = static_cast<double>(gpu::PlanePasses::least_bytes(walk.axes, 1, 0, 1));
    return iteration_seconds(z, spectrum, walk.depth, walk.together, traffic,
                             {transfers.to_device, transfers.to_host, memory > 0 ? memory : 1e12});
}

// The fastest of those that fit.
WalkDepth choose_walk(const Problem& problem, const gpu::PairAxes& axes, index_t limit,
                      const DeviceChoice& choice) {
    const int device = choice.devices.front();
    WalkDepth best = deepest_walk(problem, axes, 1, limit, device);
    const index_t most = most_together(problem, choice);
    if (best.depth == 0 || most == 1) return best;
    double least = predicted_seconds(problem, best, device);
    for (index_t together = 2; together <= most; ++together) {
        const WalkDepth walk = deepest_walk(problem, axes, together, limit, device);
        if (walk.depth == 0) break;
        const double seconds = predicted_seconds(problem, walk, device);
        if (seconds >= 0.9 * least) continue;
        least = seconds;
        best = walk;
    }
    return best;
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
        plan_.iterations_a_walk = static_cast<int>(walk_.together);
        plan_.why_not_on_device = why_not_resident;
        plan_.engines.clear();
        for (std::size_t g = 0; g < parts.size(); ++g) {
            Walker::Place place;
            place.device = choice.devices[g];
            place.object = parts[g].object;
            place.image = parts[g].image;
            place.depth = walk_.depth;
            place.together = walk_.together;
            place.limit_bytes = limits[g];
            places_.push_back(place);
            plan_.engines += message(g == 0 ? "" : " ", "gpu:", place.device);
        }
        plan_.grid = {z.grid, walk_.axes[1].grid, walk_.axes[2].grid};
        plan_.array_bytes = WalkArrays::bytes(problem, z);
        plan_.device_bytes = device_bytes(problem, walk_);
        plan_.host_bytes += plan_.array_bytes;
    }
    ~WalkRunner() override { free_on_device(steps_); }

  private:
    DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                   const ExecutionContext& context,
                                   const DeconvolveRun& along) override {
        if (!steps_)
            steps_ = std::make_unique<WalkSteps>(problem, walk_.axes, kernels_.views(), places_,
                                                 threads_);
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
        choose_walk(problem, *axes, *std::min_element(limits.begin(), limits.end()), choice);
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
