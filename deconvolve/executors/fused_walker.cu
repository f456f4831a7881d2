// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

void FusedWalker::upload(index_t k, const WalkTask& task) {
    const WalkStep step = walk().planes_at_step(k);
    const bool restarts = task.starts.front().restart;
    copy_in(rings_.newest, arrays_.newest, step.load);
    if (arrays_.before && !restarts) copy_in(rings_.before, arrays_.before, step.load);
    upload_image(step.image, task);
    if (arrays_.change && !restarts) copy_in(rings_.changes, arrays_.change, step.update);
    upload_weights(k, step.update);
}

void FusedWalker::work(index_t k, const WalkTask& task) {
    for (std::size_t i = 0; i < task.starts.size(); ++i) {
        const WalkStep step = walk(i).planes_at_step(k);
        if (i == 0)
            load_points(step.load, task.starts[i]);
        else
            load_next_points(step, task, i);
        if (step.image.count() > 0) compare(step, task, i);
        if (step.update.count() > 0) update(step, task, i);
    }
}

// Downloads the two newest estimates of fused iterations, or the estimate of a single iteration to
// WalkArrays::target().
void FusedWalker::download(index_t k, const WalkTask& task) {
    const std::size_t last = task.starts.size() - 1;
    const IndexRange planes = walk(last).planes_at_step(k).update;
    copy_out(rings_.points[last], last > 0 ? arrays_.newest : arrays_.target(), planes);
    if (last > 0 && arrays_.before)
        copy_out(rings_.points[last - 1], arrays_.before, walk(last - 1).planes_at_step(k).update);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, planes);
}

void FusedWalker::load_next_points(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const PlaneRing& newest = rings_.points[i - 1];
    const PlaneRing& before = i == 1 ? rings_.newest : rings_.points[i - 2];
    for_runs(step.load, {&newest, &before, &rings_.points[i]}, [&](index_t z, index_t count) {
        ElementWork work;
        work.newest = newest.at(z);
        if (arrays_.before) work.before = before.at(z);
        work.restart = task.starts[i].restart;
        work.elements.extrapolation = task.starts[i].extrapolation;
        work.kept = rings_.points[i].at(z);
        passes_->forward(PlaneKind::object, work,
                         {walk(i).of_object(z), count, static_cast<index_t>(i)}, work_);
    });
}

void FusedWalker::compare(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const auto ring = static_cast<index_t>(i);
    blur(walk(i), step, ring);
    for_counted(step.image, [&](const IndexRange& part, bool counted) {
        for_runs(part, {&rings_.data, &rings_.held_out}, [&](index_t z, index_t count) {
            ElementWork work;
            work.kind = ElementKind::compare;
            work.data = rings_.data.bytes_of(z);
            work.data_is_uint16 = arrays_.data_is_uint16;
            if (task.settings.held_out_share > 0) work.held_out = rings_.held_out.at(z);
            work.elements.held_out_share = task.settings.held_out_share;
            work.elements.model = task.settings.model;
            work.elements.less = task.starts[i].unmatched ? 1 : 0;
            double* const sums = counted ? &place_for_sums(0, i)->first : nullptr;
            const index_t blocks = passes_->inverse(
                PlaneKind::image, work, {walk(i).of_image(z), count, ring}, sums, work_);
            if (counted) add_blocks(0, blocks, i);
        });
    });
}

void FusedWalker::update(const WalkStep& step, const WalkTask& task, std::size_t i) {
    const auto ring = static_cast<index_t>(i);
    const PlaneRing& points = rings_.points[i];
    const bool restarts = task.starts[i].restart;
    blur_back(walk(i), step, task.starts[i].unmatched ? 1 : 0, ring);
    if (task.settings.tv_weight > 0) find_divisors(step.update, task);
    for_updates(step.update, {&points, &rings_.changes, &rings_.divisors},
                [&](index_t z, index_t count, bool are_equal) {
                    ElementWork work;
                    work.kind = ElementKind::update;
                    work.newest = points.at(z);
                    work.restart = restarts;
                    if (has_changes()) work.change = rings_.changes.short_at(z);
                    work.last_format = task.starts[i].last_format;
                    work.format = task.starts[i].format;
                    if (task.settings.tv_weight > 0) {
                        work.weight = rings_.divisors.at(z);
                    } else {
                        work.weight = are_equal ? rings_.equal_weights.at(0) : rings_.weights.at(z);
                        if (are_equal) work.equal_planes = {0, count};
                        work.elements.least_weight = least_weight;
                    }
                    work.elements.unmatched = task.starts[i].unmatched;
                    double* const sums = has_changes() ? &place_for_sums(1, i)->first : nullptr;
                    const index_t blocks = passes_->inverse(
                        PlaneKind::object, work, {walk(i).of_update(z), count, ring}, sums, work_);
                    if (sums != nullptr) add_blocks(1, blocks, i);
                });
}

}  // namespace convolume::deconvolve
