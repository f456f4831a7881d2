// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/device_stages.cuh"
#include "deconvolve/tile_walker.cuh"

namespace convolume::deconvolve {

void TileWalker::compare(const WalkStep& step, const WalkTask& task, std::size_t i) {
    blur(walk(), step);
    const auto compare_run = [&](index_t z, index_t count) {
        const PlanePasses::Slots slots{walk().of_image(z), count};
        const index_t samples = count * image_plane();
        float* const ratios = rings_.ratios.at(z);
        passes_->inverse(Side::image, slots, ratios, work_);
        using AnyRatio = RatioWith<Pixels>;
        const RatioHeldOutWith<AnyRatio> stage{{pixels(z), ratios, task.model},
                                               task.held_share > 0 ? rings_.held.at(z) : nullptr,
                                               task.held_share};
        add_blocks(0, start_sums(samples, SumWithin{stage, tile().counted_window()},
                                 place_for_sums(0), work_));
        if (is_unmatched(task, i))
            start_stage(samples, LessOneWith<Pixels>{pixels(z), ratios}, work_);
        transform(Side::image, ratios, slots);
    };
    for_runs(step.image, {&rings_.data, &rings_.held, &rings_.ratios}, compare_run);
}

void TileWalker::update(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const Origin& origin = task.origins[i];
    blur_back(walk(), step, is_unmatched(task, i) ? 1 : 0);
    if (task.tv_weight > 0) find_divisors(step.update, task);
    const auto update_run = [&](index_t z, index_t count, bool alike) {
        const index_t voxels = count * object_plane();
        const float* const points = rings_.points.front().at(z);
        float* const corrections = rings_.corrections.at(z);
        passes_->inverse(Side::object, {walk().of_update(z), count}, corrections, work_);
        const auto take = [&](const auto& stage) {
            if (!arrays_.change) {
                start_stage(voxels, stage, work_);
                return;
            }
            const ShortChanges changes{rings_.changes.short_at(z), !origin.restart,
                                       origin.last_format, origin.format};
            using AnyStep = std::decay_t<decltype(stage)>;
            const StepWithProducts<AnyStep, ShortChanges> with_products{stage, changes};
            add_blocks(1, start_sums(voxels, SumWithin{with_products, tile().own_window()},
                                     place_for_sums(1), work_));
        };
        const Weights weight = weights(z, count, alike);
        // Divisors are infinite where there is no light.
        if (task.tv_weight > 0)
            take(StepWith<Weights>{points, corrections, {rings_.divisors.at(z)}, 0});
        else if (is_unmatched(task, i))
            take(UnmatchedStepWith<Weights>{points, corrections, weight, least_weight});
        else
            take(StepWith<Weights>{points, corrections, weight, least_weight});
    };
    for_updates(step.update,
                {&rings_.points.front(), &rings_.corrections, &rings_.changes, &rings_.divisors},
                update_run);
}

void TileWalker::download(index_t k, const WalkTask&) {
    const gpu::Range planes = walk().step(k).update;
    copy_out(rings_.corrections, arrays_.target(), planes);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, planes);
}

}  // namespace convolume::deconvolve
