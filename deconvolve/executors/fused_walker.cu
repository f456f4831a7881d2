// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"
#include "deconvolve/registry.hpp"

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

/// The operations of step k of iteration i of those that the walk fuses (method.hpp).
struct FusedWalker::FusedWalkOperations : FusedOperations {
    FusedWalker& walker;
    const WalkTask& task;
    std::size_t i;
    WalkStep step;

    const StepSettings& settings() const { return task.settings; }
    const StepStart& start() const { return task.starts[i]; }

    void load_point() { walker.load_points(step.load, start(), i); }
    void blur(ArrayRole, ArrayRole) {
        if (step.image.count() > 0) walker.Walker::blur(walk(), step, ring());
    }
    void compare(float less) {
        walker.for_counted(step.image, [&](const IndexRange& part, bool counted) {
            for_runs(part, {&rings().data, &rings().held_out}, [&](index_t z, index_t count) {
                ElementWork work;
                work.kind = ElementKind::compare;
                work.data = rings().data.bytes_of(z);
                work.data_is_uint16 = walker.arrays_.data_is_uint16;
                if (settings().held_out_share > 0) work.held_out = rings().held_out.at(z);
                work.elements.held_out_share = settings().held_out_share;
                work.elements.model = settings().model;
                work.elements.less = less;
                double* const sums = counted ? &walker.place_for_sums(0, i)->first : nullptr;
                const index_t blocks = walker.passes_->inverse(PlaneKind::image, work,
                                                               {walk().of_image(z), count, ring()},
                                                               sums, walker.work_);
                if (counted) walker.add_blocks(0, blocks, i);
            });
        });
    }
    void blur_back(ArrayRole, ArrayRole) { project(0); }
    void back_project_unmatched(ArrayRole, ArrayRole) { project(1); }
    void find_divisors() {
        if (step.update.count() > 0) walker.Walker::find_divisors(step.update, task);
    }
    template <ArrayRole divisors = ArrayRole::weights, class Rule>
    void update(const Rule& rule) {
        walker.for_updates(
            step.update, {&points(), &rings().changes, &rings().divisors},
            [&](index_t z, index_t count, bool are_equal) {
                ElementWork work;
                work.kind = ElementKind::update;
                work.newest = points().at(z);
                work.restart = start().restart;
                if (walker.has_changes()) work.change = rings().changes.short_at(z);
                work.last_format = start().last_format;
                work.format = start().format;
                work.elements.use(rule);
                if (divisors == ArrayRole::divisors) {
                    work.weight = rings().divisors.at(z);
                } else {
                    work.weight = are_equal ? rings().equal_weights.at(0) : rings().weights.at(z);
                    if (are_equal) work.equal_planes = {0, count};
                }
                double* const sums =
                    walker.has_changes() ? &walker.place_for_sums(1, i)->first : nullptr;
                const index_t blocks = walker.passes_->inverse(PlaneKind::object, work,
                                                               {walk().of_update(z), count, ring()},
                                                               sums, walker.work_);
                if (sums != nullptr) walker.add_blocks(1, blocks, i);
            });
    }

  private:
    const WalkerRings& rings() const { return walker.rings_; }
    const PlaneRing& points() const { return rings().points[i]; }
    const PlaneWalk& walk() const { return walker.walk(i); }
    index_t ring() const { return static_cast<index_t>(i); }
    void project(std::size_t kernel) {
        if (step.update.count() > 0) walker.Walker::blur_back(walk(), step, kernel, ring());
    }
};

void FusedWalker::work(index_t k, const WalkTask& task) {
    for (std::size_t i = 0; i < task.starts.size(); ++i) {
        FusedWalkOperations operations{{}, *this, task, i, walk(i).planes_at_step(k)};
        run_iteration(method_, operations);
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

}  // namespace convolume::deconvolve
