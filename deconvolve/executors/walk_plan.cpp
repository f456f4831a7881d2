// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "deconvolve/executors/gpu_runner.cuh"
#include "deconvolve/executors/pass_problem.hpp"
#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/executors/walk_arrays.cuh"
#include "deconvolve/executors/walk_executor.cuh"
#include "gpu/runtime/bandwidth.hpp"

namespace convolume::deconvolve {

namespace {

struct WalkPlan {
    PairAxes axes;      ///< axes of whole planes, with the grids of a step and of a tile
    index_t depth = 0;  ///< planes that a step advances; 0: nothing fits
    index_t iterations_a_walk = 1;  ///< number of iterations that a walk fuses
    std::vector<PlaneTile> tiles{};
    ResidentArrays resident{};
    double seconds = 0;  ///< predicted time of an iteration

    bool in_tiles() const { return tiles.size() > 1; }
};

index_t pass_bytes(const DeconvolutionProblem& problem, const WalkPlan& walk) {
    return DevicePlanePasses::least_bytes(
        walk.axes, PlaneWalk::ring(walk.axes[0], walk.depth),
        problem.traits.has_unmatched ? 2 : static_cast<std::size_t>(problem.psf_count()),
        WalkerRings::spectra(problem, walk.iterations_a_walk), problem.psf_varies());
}
index_t device_bytes(const DeconvolutionProblem& problem, const WalkPlan& walk) {
    const WalkerRings rings(problem, walk.axes[0], walk.depth, walk.iterations_a_walk,
                            most_samples(walk.tiles), walk.in_tiles(), walk.resident);
    return checked_add(rings.bytes(), pass_bytes(problem, walk));
}

double predicted_seconds(const DeconvolutionProblem& problem, const WalkPlan& walk,
                         const DeviceChoice& choice) {
    // Resident arrays do not cross the bus, but steps read and write all arrays.
    const SampleBytes bytes(problem), moved(problem, walk.resident);
    const PairAxis& z = walk.axes[0];
    const auto equal_planes = alike_planes(problem, z, z.whole_object());
    const auto objects = static_cast<double>(z.object), images = static_cast<double>(z.image);
    const auto weights = static_cast<double>(equal_planes.stored(z.object));
    const auto own = static_cast<double>(problem.object.y * problem.object.x);
    const auto of_object = static_cast<double>(bytes.object);
    const auto of_before = static_cast<double>(bytes.before);
    double loaded = 0, compared = 0;  // samples of a plane, summed over all tiles
    for (const PlaneTile& tile : walk.tiles) {
        loaded += static_cast<double>(tile.samples().object);
        compared += static_cast<double>(tile.samples().image);
    }
    const double of_data = compared * static_cast<double>(bytes.data);
    const auto of_change = static_cast<double>(moved.change);
    WalkTraffic traffic;
    traffic.up = loaded * (objects * (of_object + of_before + of_change) +
                           weights * static_cast<double>(moved.weights)) +
                 images * compared * static_cast<double>(moved.data);
    traffic.down =
        own * objects * (of_object + of_change + (walk.iterations_a_walk > 1 ? of_before : 0));
    traffic.arrays = loaded * objects * (4 * of_object + of_before) + images * of_data;
    // In tiles, samples are written and read once more between passes.
    if (walk.in_tiles()) traffic.arrays += 4 * of_object * (loaded * objects + compared * images);
    const int device = choice.devices.front();
    const gpu::TransferRates transfers = gpu::transfer_rates(device);
    const double memory = gpu::device_properties(device).memory_bytes_per_s;
    const auto tiles = static_cast<double>(walk.tiles.size());
    const double spectrum =
        tiles * static_cast<double>(DevicePlanePasses::least_bytes(walk.axes, 1, 0, 1));
    const double seconds =
        iteration_seconds(z, spectrum, walk.depth, walk.iterations_a_walk, traffic,
                          {transfers.to_device, transfers.to_host, memory > 0 ? memory : 1e12});
    const auto devices = static_cast<double>(choice.devices.size());
    return walk.in_tiles() ? seconds * std::ceil(tiles / devices) / tiles : seconds / devices;
}

// Returns the depth of steps to aim at. Deep steps are efficient, but transfers of the first and
// the last step overlap with no work, so there should be several steps.
index_t wanted_depth(const PairAxis& z) {
    constexpr index_t wanted_steps = 8;
    return std::clamp<index_t>(ceil_div(z.object, wanted_steps), std::min(z.taps, z.object),
                               z.object);
}
void choose_depth(WalkPlan& walk, const DeconvolutionProblem& problem, index_t limit,
                  const DeviceChoice& choice) {
    PairAxis& z = walk.axes[0];
    walk.depth = wanted_depth(z);
    for (; walk.depth > 0; walk.depth -= std::max<index_t>(1, walk.depth / 8)) {
        z.grid = pair_grid_z(choice.devices.front(), PlaneWalk::least_grid(z, walk.depth));
        if (z.grid > 0 && device_bytes(problem, walk) <= limit) break;
    }
    if (walk.depth > 0) walk.seconds = predicted_seconds(problem, walk, choice);
}

// Returns the largest number of consecutive iterations that one GPU can fuse into a walk. Their
// steps may depend on earlier estimates, but not on sums.
index_t most_fused_iterations(const DeconvolutionProblem& problem, const DeviceChoice& choice) {
    const bool alone = choice.devices.size() == 1 || problem.object.z == 1;
    return alone && fits_fused_passes(problem) && !problem.traits.keeps_change
               ? std::min<index_t>(WalkerRings::most_fused_iterations, *problem.options.iterations)
               : 1;
}

// Returns the sets of arrays that may stay on the GPU.
std::vector<ResidentArrays> choices_of_resident(const DeconvolutionProblem& problem,
                                                const DeviceChoice& choice) {
    const bool alone = choice.devices.size() == 1 || problem.object.z == 1;
    if (!alone) return {{}};
    const ResidentArrays most = ResidentArrays::most(problem);
    return {{}, {most.change, false, most.weights}, most};
}

// Returns the fastest plan over whole planes that fits.
WalkPlan walk_whole_planes(const DeconvolutionProblem& problem, const PairAxes& axes, index_t limit,
                           const DeviceChoice& choice) {
    const PlaneTile whole = whole_planes(axes[1], axes[2]);
    WalkPlan best{axes};
    const index_t most = most_fused_iterations(problem, choice);
    for (index_t iterations_a_walk = 1; iterations_a_walk <= most; ++iterations_a_walk) {
        WalkPlan fastest{axes};
        for (const ResidentArrays& resident : choices_of_resident(problem, choice)) {
            WalkPlan walk{axes, 0, iterations_a_walk, {whole}, resident};
            choose_depth(walk, problem, limit, choice);
            if (walk.depth > 0 && (fastest.depth == 0 || walk.seconds < fastest.seconds))
                fastest = walk;
        }
        if (fastest.depth == 0) break;
        if (best.depth == 0 || fastest.seconds < 0.9 * best.seconds) best = fastest;
    }
    return best;
}

WalkPlan walk_in_tiles(const DeconvolutionProblem& problem, const PairAxes& axes, index_t limit,
                       const DeviceChoice& choice) {
    constexpr index_t most_along_axis = 16;
    const int device = choice.devices.front();
    const index_t chained = problem.traits.projections;
    // A total variation reads the voxels beside each voxel.
    const index_t least_taps = problem.traits.penalizes_variation() ? 2 : 1;
    const auto most = [&](const PairAxis& axis) {
        return axis.taps < least_taps ? 1 : std::min(axis.object, most_along_axis);
    };
    WalkPlan best{axes};
    for (index_t columns = 1; columns <= most(axes[2]); ++columns) {
        WalkPlan walk{axes};
        auto& [z, y, x] = walk.axes;
        const auto along_x = divide_axis(x, columns, chained);
        x.grid = pair_grid_x(device, least_grid(x, along_x));
        if (x.grid == 0) continue;
        for (index_t rows = columns == 1 ? 2 : 1; rows <= most(y); ++rows) {
            const auto along_y = divide_axis(y, rows, chained);
            y.grid = pair_grid_y(device, least_grid(y, along_y));
            if (y.grid == 0) continue;
            walk.tiles = tiles_of(along_y, along_x);
            choose_depth(walk, problem, limit, choice);
            if (walk.depth > 0 && (best.depth == 0 || walk.seconds < best.seconds)) best = walk;
            // Smaller tiles would only load more samples around them.
            if (walk.depth == wanted_depth(z) && walk.tiles.size() >= choice.devices.size()) break;
        }
        if (walk.depth == wanted_depth(walk.axes[0]) && walk.tiles.size() == along_x.size()) break;
    }
    return best;
}

WalkPlan choose_walk(const DeconvolutionProblem& problem, index_t limit,
                     const DeviceChoice& choice) {
    // A total variation reads the plane behind each plane.
    const index_t least_taps_z = problem.traits.penalizes_variation() ? 2 : 1;
    WalkPlan whole;
    if (const auto axes = whole_plane_axes(problem, choice.devices.front(), least_taps_z)) {
        whole = walk_whole_planes(problem, *axes, limit, choice);
        // Tiles cannot gain anything over such deep steps.
        const PairAxis& z = whole.axes[0];
        if (whole.depth >= std::min(z.taps, z.object)) return whole;
    }
    const auto axes = pass_axes(problem, least_taps_z);
    if (!axes) return whole;
    const WalkPlan tiled = walk_in_tiles(problem, *axes, limit, choice);
    return tiled.depth > 0 && (whole.depth == 0 || tiled.seconds < 0.8 * whole.seconds) ? tiled
                                                                                        : whole;
}

/// The GPUs of a walk, the memory that it may take on each, and its plan.
struct DevicesOfWalk {
    DeviceChoice choice;
    std::vector<index_t> limits;
    WalkPlan plan;
};

DevicesOfWalk devices_of_walk(const DeconvolutionProblem& problem, const DeviceChoice& choice) {
    std::vector<index_t> limits;
    for (const int each : choice.devices) {
        const gpu::DeviceScope scope(each);
        limits.push_back(choice.limit_bytes(each));
    }
    const gpu::DeviceScope scope(choice.devices.front());
    WalkPlan plan = choose_walk(problem, *std::min_element(limits.begin(), limits.end()), choice);
    return {choice, std::move(limits), std::move(plan)};
}

class WalkRunner final : public GpuRunner {
  public:
    WalkRunner(const DeconvolutionProblem& problem, const DeviceChoice& choice,
               const WalkPlan& walk, const std::vector<index_t>& limits,
               const std::string& why_not_resident)
        : GpuRunner(problem, choice.devices.front()),
          axes_(walk.axes),
          kernels_(pass_kernels(problem)),
          taps_(kernels_.taps),
          threads_(choice.threads) {
        const PairAxis& z = axes_[0];
        const auto devices = static_cast<index_t>(choice.devices.size());
        const auto tiles = static_cast<index_t>(walk.tiles.size());
        Walker::Setup setup{0,          z.whole_object(),       z.whole_image(),
                            walk.depth, walk.iterations_a_walk, 0,
                            {},         walk.resident};
        if (walk.in_tiles()) {
            setups_.assign(static_cast<std::size_t>(std::min(devices, tiles)), setup);
            for (std::size_t i = 0; i < walk.tiles.size(); ++i)
                setups_[i % setups_.size()].tiles.push_back(walk.tiles[i]);
        } else {
            for (const SlabPlanes& slab :
                 divide_planes(z, choice.speeds(std::min(devices, z.object)))) {
                setup.object = slab.object;
                setup.image = slab.image;
                setups_.push_back(setup);
            }
        }
        plan_.on_device = false;
        plan_.by_walks = true;
        plan_.iterations_a_walk = static_cast<int>(walk.iterations_a_walk);
        plan_.tiles = static_cast<int>(tiles);
        plan_.why_not_on_device = why_not_resident;
        plan_.engines.clear();
        for (std::size_t g = 0; g < setups_.size(); ++g) {
            setups_[g].device = choice.devices[g];
            setups_[g].limit_bytes = limits[g];
            plan_.engines += message(g == 0 ? "" : " ", "gpu:", setups_[g].device);
        }
        plan_.grid = {z.grid, axes_[1].grid, axes_[2].grid};
        plan_.array_bytes = WalkArrays::bytes(problem, z, walk.in_tiles(), walk.resident);
        plan_.device_bytes = device_bytes(problem, walk);
        plan_.host_bytes += plan_.array_bytes;
    }
    ~WalkRunner() override { free_on_device(executor_); }

  private:
    Executor& executor(const DeconvolutionProblem& problem) override {
        if (!executor_) {
            kernels_.taps = taps_.views();
            executor_ = std::make_unique<WalkExecutor>(problem, axes_, kernels_, setups_, threads_);
            taps_.release();
        }
        return *executor_;
    }

    PairAxes axes_;
    PlaneKernels kernels_;
    TapCopies taps_;
    int threads_;
    std::vector<Walker::Setup> setups_;
    std::unique_ptr<WalkExecutor> executor_;
};

}  // namespace

std::unique_ptr<Runner> make_walk_runner(const DeconvolutionProblem& problem, const GpuChoice& gpus,
                                         const std::string& why_not_resident) {
    const auto& all = static_cast<const DeviceChoice&>(gpus);
    DevicesOfWalk walk = devices_of_walk(problem, all);
    if (!all.named && all.has_several()) {
        // A GPU alone fuses iterations and keeps arrays, so that less crosses the host's links.
        DeviceChoice first = all;
        first.devices.resize(1);
        DevicesOfWalk alone = devices_of_walk(problem, first);
        constexpr double least_gain = 0.8;  // share of the time that more GPUs have to save
        if (alone.plan.depth > 0 &&
            (walk.plan.depth == 0 || walk.plan.seconds > least_gain * alone.plan.seconds))
            walk = std::move(alone);
    }
    if (walk.plan.depth == 0) return nullptr;
    const index_t host_limit = host_limit_bytes(problem.options.max_host_bytes);
    const index_t host = checked_add(
        WalkArrays::bytes(problem, walk.plan.axes[0], walk.plan.in_tiles(), walk.plan.resident),
        caller_bytes(problem));
    if (host > host_limit) return nullptr;
    return std::make_unique<WalkRunner>(problem, walk.choice, walk.plan, walk.limits,
                                        why_not_resident);
}

}  // namespace convolume::deconvolve
