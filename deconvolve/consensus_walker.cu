// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/consensus.hpp"
#include "deconvolve/consensus_walker.cuh"
#include "deconvolve/device_stages.cuh"

namespace convolume::deconvolve {

void ConsensusWalker::upload(index_t k, const WalkTask& task) {
    const WalkStep step = walk(0).step(k), last = walk(1).step(k);
    copy_in(rings_.newest, arrays_.newest, step.load);
    if (arrays_.before && !task.origins.front().restart)
        copy_in(rings_.before, arrays_.before, step.load);
    upload_image(step.image, task);
    if (arrays_.change && !task.origins.front().restart)
        copy_in(rings_.changes, arrays_.change, last.update);
    upload_weights(k, step.update);
}

void ConsensusWalker::work(index_t k, const WalkTask& task) {
    const WalkStep step = walk(0).step(k), last = walk(1).step(k);
    load_points(step.load, task.origins.front());
    if (step.image.count() > 0) divide(step, task);
    if (step.update.count() > 0) find_agreement(step);
    if (last.image.count() > 0) blur_agreement(last);
    if (last.update.count() > 0) take_steps(last, task);
}

void ConsensusWalker::download(index_t k, const WalkTask&) {
    const WalkStep last = walk(1).step(k);
    copy_out(rings_.corrections, arrays_.target(), last.update);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, last.update);
}

void ConsensusWalker::divide(const WalkStep& step, const WalkTask& task) {
    blur(walk(0), step, first_half);
    const auto divide_run = [&](index_t z, index_t count, bool counted) {
        const index_t slot = walk(0).of_image(z);
        float* const ratios = rings_.ratios.at(z);
        float* const other = rings_.other_ratios.at(z);
        passes_->inverse(Side::image, {slot, count, first_half}, ratios, work_);
        using AnyRatio = RatioWith<Pixels>;
        const HalfRatios<AnyRatio> halves{
            {pixels(z), ratios, task.model},
            other,
            static_cast<float>(task.photons.gain),
            static_cast<float>(task.photons.offset),
            static_cast<std::uint32_t>(task.origins.front().iteration),
            pixel_numbers(z)};
        const HalfRatiosHeldOut<AnyRatio> stage{
            halves, task.held_share > 0 ? rings_.held.at(z) : nullptr, task.held_share};
        const index_t blocks =
            start_sums(count * image_plane(), SumWithin{stage, tile().counted_window()},
                       place_for_sums(0), work_);
        if (counted) add_blocks(0, blocks);
        transform(Side::image, ratios, {slot, count, first_half});
        transform(Side::image, other, {slot, count, second_half});
    };
    for_counted(step.image, [&](const gpu::Range& part, bool counted) {
        for_runs(part, {&rings_.data, &rings_.held, &rings_.ratios},
                 [&](index_t z, index_t count) { divide_run(z, count, counted); });
    });
}

void ConsensusWalker::find_agreement(const WalkStep& step) {
    for (const index_t half : {first_half, second_half}) blur_back(walk(0), step, 0, half);
    for_updates(step.update, {&rings_.corrections, &rings_.agreements},
                [&](index_t z, index_t count, bool alike) {
                    const index_t slot = walk(0).of_update(z);
                    float* const corrections = rings_.corrections.at(z);
                    float* const agreements = rings_.agreements.at(z);
                    passes_->inverse(Side::object, {slot, count, first_half}, corrections, work_);
                    passes_->inverse(Side::object, {slot, count, second_half}, agreements, work_);
                    start_stage(count * object_plane(),
                                Agreement<Weights>{corrections, agreements,
                                                   weights(z, count, alike), least_weight},
                                work_);
                    transform(Side::object, agreements, {walk(1).of_object(z), count, agreement});
                });
}

// The image ends where it ends: beyond, no agreement comes back.
void ConsensusWalker::blur_agreement(const WalkStep& step) {
    blur(walk(1), step, agreement);
    for_runs(step.image, {&rings_.ratios}, [&](index_t z, index_t count) {
        const PlanePasses::Slots slots{walk(1).of_image(z), count, agreement};
        passes_->inverse(Side::image, slots, rings_.ratios.at(z), work_);
        transform(Side::image, rings_.ratios.at(z), slots);
    });
}

void ConsensusWalker::take_steps(const WalkStep& step, const WalkTask& task) {
    blur_back(walk(1), step, 0, agreement);
    for_updates(
        step.update,
        {&rings_.points.front(), &rings_.corrections, &rings_.agreements, &rings_.changes},
        [&](index_t z, index_t count, bool alike) {
            const index_t voxels = count * object_plane();
            const PlaneWindow own = tile().own_window();
            float* const agreements = rings_.agreements.at(z);
            passes_->inverse(Side::object, {walk(1).of_update(z), count, agreement}, agreements,
                             work_);
            using AnyStep = ConsensusStep<StepWith<Weights>>;
            const AnyStep stage{{rings_.points.front().at(z), rings_.corrections.at(z),
                                 weights(z, count, alike), least_weight},
                                agreements};
            if (arrays_.change) {
                const Origin& origin = task.origins.front();
                const ShortChanges changes{rings_.changes.short_at(z), !origin.restart,
                                           origin.last_format, origin.format};
                const StepWithProducts<AnyStep, ShortChanges> with_products{stage, changes};
                add_blocks(
                    1, start_sums(voxels, SumWithin{with_products, own}, place_for_sums(1), work_));
            } else {
                start_stage(voxels, stage, work_);
            }
            add_blocks(2, start_sums(voxels, SumWithin{AsPair<Consenting>{{agreements}}, own},
                                     place_for_sums(2), work_));
        });
}

}  // namespace convolume::deconvolve
