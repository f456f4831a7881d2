// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/threads.hpp"
#include "deconvolve/thinning.hpp"
#include "deconvolve/walk_steps.cuh"

namespace convolume::deconvolve {

WalkSteps::WalkSteps(const Problem& problem, const gpu::PairAxes& axes,
                     const std::vector<ConstImageView>& kernels,
                     const std::vector<Walker::Place>& places, int threads)
    : options_(problem.options),
      voxels_(element_count(problem.object)),
      pixels_(element_count(problem.image)),
      threads_(threads),
      arrays_(problem, axes[0], !places.front().tiles.empty(), threads),
      together_(static_cast<int>(places.front().together)),
      unmatched_(unmatched_steps(problem)),
      tv_weight_(tv_weight_of(problem)),
      variation_(variation_of(problem, 0)),
      compares_all_(!problem.options.saturation) {
    for (const Walker::Place& place : places) {
        const gpu::DeviceScope scope(place.device);
        walkers_.push_back(Walker::make(place, problem, axes, kernels, arrays_));
    }
}

WalkSteps::~WalkSteps() = default;

index_t WalkSteps::most_bytes() const {
    index_t most = 0;
    for (const auto& walker : walkers_) most = std::max(most, walker->bytes());
    return most;
}

void WalkSteps::write_image(const float* values, index_t first, index_t count) {
    if (arrays_.narrow_data)
        std::transform(values, values + count,
                       reinterpret_cast<std::uint16_t*>(arrays_.data.bytes_of(0)) + first,
                       [](float value) { return static_cast<std::uint16_t>(value); });
    else
        std::copy_n(values, count, arrays_.data.data() + first);
}
void WalkSteps::write_estimate(const float* values, index_t first, index_t count) {
    std::copy_n(values, count, arrays_.newest.data() + first);
}
void WalkSteps::read_estimate(float* values, index_t first, index_t count) const {
    const float* const newest = arrays_.newest.data() + first;
    std::copy_n(newest, count, values);
    if (unadvanced_ == 0) return;
    const float* const direction = arrays_.direction.data() + first;
    for (index_t i = 0; i < count; ++i) values[i] += unadvanced_ * direction[i];
}

void WalkSteps::hold_out(const PhotonScale& photons, int halvings) {
    for_each(pixels_, SetApart{arrays_.data.data(), arrays_.held.data(), halvings,
                               static_cast<float>(photons.gain), static_cast<float>(photons.offset),
                               1, Thinning::hold_out});
}
void WalkSteps::put_back() {
    for_each(pixels_, AddScaled{arrays_.data.data(), arrays_.held.data(), 1});
}

void WalkSteps::begin(const LoadedImage& image, float held_share) {
    model_ = model_of(image);
    held_share_ = held_share;
    photons_ = image.photons;
    set_mean(variation_, image.mean);
    if (!has_weights_) {
        WalkTask task;
        task.kind = WalkTask::Kind::weights;
        task.compares_all = compares_all_;
        walk(task, nullptr);
        has_weights_ = compares_all_;
    }
    const Weights weights{arrays_.weights.data(), arrays_.object.samples(), arrays_.alike};
    if (write_start(image))
        for_each(voxels_, begin_stage(image, arrays_.newest.data(), weights));
    else
        for_each(voxels_, Fill{arrays_.newest.data(), start_of(image)});
}

std::vector<WalkSums> WalkSteps::walk(const WalkTask& task, const IterationProgress* progress,
                                      const std::function<void(const gpu::Range&)>& prepare) {
    index_t steps = 0, tiles = 1;
    for (const auto& walker : walkers_) {
        if (walkers_.size() > 1) walker->keep_borders(threads_);
        steps = std::max(steps, walker->steps(task));
        tiles = std::max(tiles, walker->tiles());
    }
    // Nothing may be under way in the arrays when an error leaves here.
    struct Drain {
        const std::vector<std::unique_ptr<Walker>>& walkers;
        ~Drain() {
            for (const auto& walker : walkers) walker->drain();
        }
    };
    const Drain drain{walkers_};
    std::vector<WalkSums> sums(std::max<std::size_t>(1, task.origins.size()));
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
                progress->at(static_cast<double>(tile * steps + k) /
                             static_cast<double>(tiles * steps) * static_cast<double>(sums.size()));
        }
        for (const auto& walker : walkers_) {
            if (tile >= walker->tiles()) continue;
            const gpu::DeviceScope scope(walker->device());
            const std::vector<WalkSums> of_one = walker->finish();
            for (std::size_t i = 0; i < sums.size(); ++i)
                for (std::size_t which = 0; which < sums[i].size(); ++which)
                    sums[i][which] += of_one[i][which];
        }
    }
    return sums;
}

Taken WalkSteps::take(const Origin& asked, const IterationProgress& progress) {
    Taken taken = take_together({asked}, progress).front();
    taken.refused = taken.objective() > asked.most;
    if (!taken.refused) arrays_.advance();
    return taken;
}

std::vector<Taken> WalkSteps::take_together(const std::vector<Origin>& asked,
                                            const IterationProgress& progress) {
    WalkTask task;
    for (const Origin& origin : asked)
        task.origins.push_back(without_memory_of_unmatched(origin, unmatched_));
    task.unmatched_steps = unmatched_;
    task.tv_weight = tv_weight_;
    task.variation = variation_;
    task.model = model_;
    task.held_share = held_share_;
    task.photons = photons_;
    std::vector<Taken> all;
    for (const auto& [compared, products, further] : walk(task, &progress)) {
        Taken& taken = all.emplace_back();
        taken.misfit = compared.first;
        taken.held_out = compared.second;
        if (tv_weight_ > 0) taken.penalty = static_cast<double>(tv_weight_) * further.first;
        if (options_.method == DeconvolveMethod::gradient_consensus)
            taken.consenting = further.first / static_cast<double>(voxels_);
        taken.products = products;
    }
    return all;
}

}  // namespace convolume::deconvolve
