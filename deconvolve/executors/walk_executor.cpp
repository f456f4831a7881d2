// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/walk_executor.cuh"

#include <algorithm>
#include <utility>

#include "core/threads.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/methods/wiener.hpp"

namespace convolume::deconvolve {

WalkExecutor::WalkExecutor(const DeconvolutionProblem& problem, const PairAxes& axes,
                           const PlaneKernels& kernels, const std::vector<Walker::Setup>& setups,
                           int threads)
    : problem_(problem),
      voxels_(element_count(problem.object)),
      pixels_(element_count(problem.image)),
      threads_(threads),
      resident_(setups.front().resident),
      arrays_(problem, axes[0], !setups.front().tiles.empty(), resident_, threads),
      iterations_a_walk_(static_cast<int>(setups.front().iterations_a_walk)) {
    for (const Walker::Setup& setup : setups) {
        const gpu::DeviceScope scope(setup.device);
        walkers_.push_back(Walker::make(setup, problem, axes, kernels, arrays_));
    }
}

WalkExecutor::~WalkExecutor() = default;

index_t WalkExecutor::most_bytes() const {
    index_t most = 0;
    for (const auto& walker : walkers_) most = std::max(most, walker->bytes());
    return most;
}

void WalkExecutor::write_image(const float* values, index_t first, index_t count) {
    if (!resident_.data) {
        if (arrays_.data_is_uint16)
            for_each(count,
                     Uint16Copy{reinterpret_cast<std::uint16_t*>(arrays_.data.bytes_of(0)) + first,
                                values});
        else
            for_each(count, ArrayCopy{values, arrays_.data.data() + first});
        return;
    }
    Walker& walker = *walkers_.front();
    const gpu::DeviceScope scope(walker.device());
    if (!arrays_.data_is_uint16) return walker.write_data(values, first, count);
    if (converted_.bytes() < count * index_t{sizeof(std::uint16_t)}) {
        converted_ = Buffer(count * index_t{sizeof(std::uint16_t)}, "an image on its way");
        converted_.lock_pages();
    }
    for_each(count, Uint16Copy{converted_.as<std::uint16_t>(), values});
    walker.write_data(converted_.data(), first, count);
}
void WalkExecutor::write_estimate(const float* values, index_t first, index_t count) {
    for_each(count, ArrayCopy{values, arrays_.newest.data() + first});
}
void WalkExecutor::read_estimate(float* values, index_t first, index_t count) const {
    for_each(count, ArrayCopy{arrays_.newest.data() + first, values});
}

void WalkExecutor::hold_out(const PhotonScale& photons, int halvings) {
    for_each(pixels_,
             hold_out_functor(arrays_.data.data(), arrays_.held_out.data(), photons, halvings));
}
void WalkExecutor::put_back() {
    for_each(pixels_, ScaledAddition{arrays_.data.data(), arrays_.held_out.data(), 1});
}

void WalkExecutor::begin(const LoadedImage& image, float held_out_share) {
    step_settings_ = settings_of(problem_, image, held_out_share);
    is_complete_ = true;
    WalkTask task;
    task.compares_all = problem_.compares_all();
    if (problem_.traits.solves_system) {
        task.purpose = WalkPurpose::right_hand_side;
        for_each(pixels_,
                 ConstantAddition{arrays_.data.data(), -static_cast<float>(image.background)});
        walk(task, nullptr);
        for_each(voxels_, ConstantFill{arrays_.newest.data(), 0});
        for_each(voxels_, ArrayCopy{arrays_.residual.data(), arrays_.direction.data()});
        return;
    }
    if (!has_weights_) {
        task.purpose = WalkPurpose::weights;
        walk(task, nullptr);
        has_weights_ = task.compares_all;
    }
    if (!write_start(image)) {
        for_each(voxels_, ConstantFill{arrays_.newest.data(), mean_at_start(image)});
        return;
    }
    Volume fetched;  // resident weights, which the host needs only here
    float* stored = arrays_.weights.data();
    if (resident_.weights) {
        const PlaneShape& plane = arrays_.object;
        fetched = Volume({arrays_.equal_planes.stored(problem_.object.z), plane.rows, plane.row},
                         PixelType::float32);
        stored = fetched.elements<float>();
        const gpu::DeviceScope scope(walkers_.front()->device());
        walkers_.front()->read_weights(stored);
    }
    for_each(voxels_, begin_functor(image, arrays_.newest.data(),
                                    {stored, arrays_.object.samples(), arrays_.equal_planes}));
}

std::vector<StepSums> WalkExecutor::walk(const WalkTask& task, const IterationProgress* progress,
                                         const std::function<void(const IndexRange&)>& prepare) {
    index_t steps = 0, tiles = 1;
    for (const auto& walker : walkers_) {
        if (walkers_.size() > 1) walker->keep_borders(threads_);
        steps = std::max(steps, walker->steps(task));
        tiles = std::max(tiles, walker->tiles());
    }
    // Transfers must end before an error leaves this function.
    struct DrainOnExit {
        const std::vector<std::unique_ptr<Walker>>& walkers;
        ~DrainOnExit() {
            for (const auto& walker : walkers) walker->drain();
        }
    };
    const DrainOnExit drain{walkers_};
    std::vector<StepSums> sums(std::max<std::size_t>(1, task.starts.size()));
    for (index_t tile = 0; tile < tiles; ++tile) {
        for (const auto& walker : walkers_)
            if (tile < walker->tiles()) walker->choose_tile(tile);
        for (index_t k = 0; k < steps; ++k) {
            for (const auto& walker : walkers_) {
                if (tile >= walker->tiles() || k >= walker->steps(task)) continue;
                if (prepare) prepare(walker->loads(k));
                const gpu::DeviceScope scope(walker->device());
                walker->enqueue(k, task);
            }
            if (progress != nullptr)
                progress->report_fraction(static_cast<double>(tile * steps + k) /
                                          static_cast<double>(tiles * steps) *
                                          static_cast<double>(sums.size()));
        }
        for (const auto& walker : walkers_) {
            if (tile >= walker->tiles()) continue;
            const gpu::DeviceScope scope(walker->device());
            const std::vector<StepSums> of_one = walker->finish();
            for (std::size_t i = 0; i < sums.size(); ++i)
                for (std::size_t which = 0; which < sums[i].size(); ++which)
                    sums[i][which] += of_one[i][which];
        }
    }
    return sums;
}

StepResult WalkExecutor::iterate(const StepStart& start, const IterationProgress& progress) {
    StepResult result = iterate_fused({start}, progress).front();
    result.refused = result.objective() > start.objective_limit;
    if (!result.refused) arrays_.advance();
    return result;
}

std::vector<StepResult> WalkExecutor::iterate_fused(const std::vector<StepStart>& starts,
                                                    const IterationProgress& progress) {
    WalkTask task;
    task.starts = starts;
    task.settings = step_settings_;
    std::vector<bool> complete(static_cast<std::size_t>(problem_.object.z),
                               is_complete_ || !problem_.traits.solves_system);
    // Two walks load the planes at their common border: these get the pending step once.
    const auto prepare = [&](const IndexRange& planes) {
        for (index_t z = planes.begin, end = z; z < planes.end; z = end + 1) {
            for (end = z; end < planes.end && !complete[static_cast<std::size_t>(end)]; ++end)
                complete[static_cast<std::size_t>(end)] = true;
            advance({z, end}, starts.front());
        }
    };
    std::vector<StepResult> results;
    for (const StepSums& sums : walk(task, &progress, prepare)) results.emplace_back().sums = sums;
    is_complete_ = false;
    return results;
}

void WalkExecutor::complete(const StepStart& start) {
    if (std::exchange(is_complete_, true) || !problem_.traits.solves_system) return;
    advance({0, problem_.object.z}, start);
}

void WalkExecutor::advance(const IndexRange& planes, const StepStart& start) {
    struct HostPlaneViews {
        WalkArrays& arrays;
        index_t z;
        float* object(ArrayRole role) const {
            return (role == ArrayRole::solution    ? arrays.newest
                    : role == ArrayRole::residual  ? arrays.residual
                    : role == ArrayRole::direction ? arrays.direction
                                                   : arrays.product)
                .plane(z);
        }
    };
    if (planes.count() > 0)
        for_each(planes.count() * arrays_.object.samples(),
                 Wiener::advance(HostPlaneViews{arrays_, planes.begin}, start));
}

}  // namespace convolume::deconvolve
