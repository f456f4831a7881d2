// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/device_stages.cuh"
#include "deconvolve/wiener_walker.cuh"

namespace convolume::deconvolve {

void WienerWalker::upload(index_t k, const WalkTask&) {
    const WalkStep step = walk().step(k);
    copy_in(rings_.newest, arrays_.direction, step.load);
    copy_in(rings_.residuals, arrays_.residual, step.update);
}

void WienerWalker::work(index_t k, const WalkTask& task) {
    const WalkStep step = walk().step(k);
    load_points(step.load);
    if (step.image.count() > 0) {
        blur(walk(), step);
        // The image ends where it ends: beyond, nothing comes back.
        for_runs(step.image, {&rings_.data}, [&](index_t z, index_t count) {
            const PlanePasses::Slots slots{walk().of_image(z), count};
            passes_->inverse(Side::image, slots, rings_.data.at(z), work_);
            transform(Side::image, rings_.data.at(z), slots);
        });
    }
    if (step.update.count() == 0) return;
    blur_back(walk(), step);
    for_runs(
        step.update, {&rings_.points.front(), &rings_.products, &rings_.residuals},
        [&](index_t z, index_t count) {
            const index_t voxels = count * object_plane();
            const PlaneWindow own = tile().own_window();
            float* const products = rings_.products.at(z);
            passes_->inverse(Side::object, {walk().of_update(z), count}, products, work_);
            const Product product{rings_.points.front().at(z), products, task.noise_to_signal};
            add_blocks(0, start_sums(voxels, SumWithin{product, own}, place_for_sums(0), work_));
            const DotAndSquare dots{products, rings_.residuals.at(z)};
            add_blocks(1, start_sums(voxels, SumWithin{dots, own}, place_for_sums(1), work_));
        });
}

void WienerWalker::download(index_t k, const WalkTask&) {
    copy_out(rings_.products, arrays_.product, walk().step(k).update);
}

}  // namespace convolume::deconvolve
