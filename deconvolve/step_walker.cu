// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/device_stages.cuh"
#include "deconvolve/step_walker.cuh"

namespace convolume::deconvolve {

void StepWalker::upload(index_t k, const WalkTask& task) {
    const WalkStep step = walk().step(k);
    const bool restarts = task.origins.front().restart;
    copy_in(rings_.newest, arrays_.newest, step.load);
    if (arrays_.before && !restarts) copy_in(rings_.before, arrays_.before, step.load);
    upload_image(step.image, task);
    if (arrays_.change && !restarts) copy_in(rings_.changes, arrays_.change, step.update);
    upload_weights(k, step.update);
}

void StepWalker::work(index_t k, const WalkTask& task) {
    for (std::size_t i = 0; i < task.origins.size(); ++i) {
        const WalkStep step = walk(i).step(k);
        if (i == 0)
            load_points(step.load, task.origins[i]);
        else
            load_next_points(step, task, i);
        if (step.image.count() > 0) compare(step, task, i);
        if (step.update.count() > 0) update(step, task, i);
    }
}

// The two newest estimates of several iterations, or the newest one in the place of its point.
void StepWalker::download(index_t k, const WalkTask& task) {
    const std::size_t last = task.origins.size() - 1;
    const gpu::Range planes = walk(last).step(k).update;
    copy_out(rings_.points[last], last > 0 ? arrays_.newest : arrays_.target(), planes);
    if (last > 0 && arrays_.before)
        copy_out(rings_.points[last - 1], arrays_.before, walk(last - 1).step(k).update);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, planes);
}

void StepWalker::load_next_points(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const PlaneRing& newest = rings_.points[i - 1];
    const PlaneRing& before = i == 1 ? rings_.newest : rings_.points[i - 2];
    for_runs(step.load, {&newest, &before, &rings_.points[i]}, [&](index_t z, index_t count) {
        ElementWork work;
        work.newest = newest.at(z);
        if (arrays_.before) work.before = before.at(z);
        work.restart = task.origins[i].restart;
        work.elements.ahead = task.origins[i].ahead;
        work.kept = rings_.points[i].at(z);
        passes_->forward(Side::object, work, {walk(i).of_object(z), count, static_cast<index_t>(i)},
                         work_);
    });
}

void StepWalker::compare(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const auto ring = static_cast<index_t>(i);
    blur(walk(i), step, ring);
    for_counted(step.image, [&](const gpu::Range& part, bool counted) {
        for_runs(part, {&rings_.data, &rings_.held}, [&](index_t z, index_t count) {
            ElementWork work;
            work.kind = ElementKind::compare;
            work.data = rings_.data.bytes_of(z);
            work.narrow_data = arrays_.narrow_data;
            if (task.held_share > 0) work.held = rings_.held.at(z);
            work.elements.held_share = task.held_share;
            work.elements.model = task.model;
            work.elements.less = is_unmatched(task, i) ? 1 : 0;
            double* const sums = counted ? &place_for_sums(0, i)->first : nullptr;
            const index_t blocks = passes_->inverse(
                Side::image, work, {walk(i).of_image(z), count, ring}, sums, work_);
            if (counted) add_blocks(0, blocks, i);
        });
    });
}

void StepWalker::update(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const auto ring = static_cast<index_t>(i);
    const PlaneRing& points = rings_.points[i];
    const bool restarts = task.origins[i].restart;
    blur_back(walk(i), step, is_unmatched(task, i) ? 1 : 0, ring);
    if (task.tv_weight > 0) find_divisors(step.update, task);
    for_updates(step.update, {&points, &rings_.changes, &rings_.divisors},
                [&](index_t z, index_t count, bool alike) {
                    ElementWork work;
                    work.kind = ElementKind::update;
                    work.newest = points.at(z);
                    work.restart = restarts;
                    if (arrays_.change) work.change = rings_.changes.short_at(z);
                    work.last_format = task.origins[i].last_format;
                    work.format = task.origins[i].format;
                    if (task.tv_weight > 0) {
                        work.weight = rings_.divisors.at(z);
                    } else {
                        work.weight = alike ? rings_.alike.at(0) : rings_.weights.at(z);
                        if (alike) work.alike = {0, count};
                        work.elements.least_weight = least_weight;
                    }
                    work.elements.unmatched = is_unmatched(task, i);
                    double* const sums = arrays_.change ? &place_for_sums(1, i)->first : nullptr;
                    const index_t blocks = passes_->inverse(
                        Side::object, work, {walk(i).of_update(z), count, ring}, sums, work_);
                    if (sums != nullptr) add_blocks(1, blocks, i);
                });
}

// Updates overwrite points: the last one of a step stays for the next step, as its first neighbor.
void StepWalker::find_divisors(const gpu::Range& planes, const WalkTask& task) {
    const index_t plane_bytes = rings_.points.front().plane_bytes();
    const auto place_of = [&](index_t z) { return rings_.neighborhood.at(z - planes.begin + 1); };
    const auto keep = [&](float* place, const float* from) {
        gpu::check(cudaMemcpyAsync(place, from, static_cast<std::size_t>(plane_bytes),
                                   cudaMemcpyDeviceToDevice, work_),
                   "copying on the GPU");
    };
    const index_t below = planes.begin - 1;
    // Nobody has updated what is not this walk's own.
    if (below >= 0 && below < own().begin) keep(place_of(below), rings_.points.front().at(below));
    const index_t end = std::min(planes.end + 1, z_.object);
    for (index_t z = planes.begin; z < end; ++z) keep(place_of(z), rings_.points.front().at(z));

    const index_t plane = object_plane();
    Variation variation = task.variation;
    variation.extent[1] = tile().y.object.count();
    variation.extent[2] = tile().x.object.count();
    const Grid grid{variation};
    for_updates(planes, {&rings_.divisors}, [&](index_t z, index_t count, bool alike) {
        const SmoothDivisor stage{place_of(z),
                                  alike ? rings_.alike.at(0) : rings_.weights.at(z),
                                  alike ? plane : count * plane,
                                  rings_.divisors.at(z),
                                  z * plane,
                                  least_weight,
                                  variation,
                                  task.tv_weight};
        const GridRows rows{grid, {z * grid.extent[1], (z + count) * grid.extent[1]}};
        add_blocks(
            2, start_sums(rows, SumWithin{stage, tile().own_window()}, place_for_sums(2), work_));
    });
    keep(place_of(below), place_of(planes.end - 1));
}

}  // namespace convolume::deconvolve
