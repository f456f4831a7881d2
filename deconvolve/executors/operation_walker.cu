// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"
#include "deconvolve/registry.hpp"

namespace convolume::deconvolve {

/// Views of some planes of the rings, from which functors are made (method.hpp).
struct OperationWalker::RingViews {
    const OperationWalker& walker;
    const WalkTask& task;
    index_t z, count;
    bool equal_planes = false;  ///< whether the weights of these planes are equal

    float* object(ArrayRole role) const { return walker.ring(role).at(z); }
    float* image(ArrayRole role) const { return walker.ring(role).at(z); }
    ImagePixels data() const { return walker.pixels(z); }
    const float* held_out() const {
        return task.settings.held_out_share > 0 ? walker.rings_.held_out.at(z) : nullptr;
    }
    Weights weights() const { return walker.weights(z, count, equal_planes); }
    PixelNumbers pixel_numbers() const { return walker.pixel_numbers(z); }
};

/// The operations of step k of an iteration (method.hpp).
struct OperationWalker::WalkOperations : FunctorOperations<WalkOperations> {
    static constexpr bool steps_overwrite_neighbors = true;
    using ArrayRoles = std::initializer_list<ArrayRole>;

    OperationWalker& walker;
    index_t k;
    const WalkTask& task;
    std::size_t projection = 0;  ///< number of the projection, and of the walk that makes it
    bool has_blurred = false;

    const StepSettings& settings() const { return task.settings; }
    const StepStart& start() const { return task.starts.front(); }

    void load_point() { walker.load_points(now().load, start()); }

    void blur(ArrayRole object, ArrayRole image) {
        if (has_blurred) begin_next_projection(object);
        has_blurred = true;
        const WalkStep step = now();
        if (step.image.count() == 0) return;
        walker.Walker::blur(walk(), step, spectra_of(image));
        for_runs(step.image, {&walker.ring(image)}, [&](index_t z, index_t count) {
            walker.passes_->inverse(PlaneKind::image,
                                    {walk().of_image(z), count, spectra_of(image)},
                                    walker.ring(image).at(z), walker.work_);
        });
    }
    void blur_back(ArrayRole image, ArrayRole object) { project(image, object, 0); }
    void back_project_unmatched(ArrayRole image, ArrayRole object) { project(image, object, 1); }

    template <class Make>
    void sum_pixels(SumIndex which, ArrayRoles roles, const Make& make) {
        walker.for_counted(now().image, [&](const IndexRange& part, bool counted) {
            for_runs(part, rings(roles), [&](index_t z, index_t count) {
                const index_t blocks =
                    sums(which, count * walker.image_plane(),
                         make(RingViews{walker, task, z, count}), walker.tile().counted_window());
                if (counted) walker.add_blocks(which, blocks);
            });
        });
    }
    template <class Make>
    void each_voxel(ArrayRoles roles, const Make& make) {
        for_voxels(roles, [&](const RingViews& at) {
            start_loop(at.count * walker.object_plane(), make(at), walker.work_);
        });
    }
    template <class Make>
    void sum_voxels(SumIndex which, ArrayRoles roles, const Make& make) {
        for_voxels(roles, [&](const RingViews& at) { add_sums(which, at, make(at)); });
    }
    template <class Make>
    void step(ArrayRoles roles, const Make& make) {
        for_voxels(
            roles,
            [&](const RingViews& at) {
                const auto functor = make(at);
                if (!walker.has_changes()) {
                    start_loop(at.count * walker.object_plane(), functor, walker.work_);
                    return;
                }
                const ShortFloatChanges changes{walker.rings_.changes.short_at(at.z),
                                                !start().restart, start().last_format,
                                                start().format};
                using Functor = std::decay_t<decltype(functor)>;
                add_sums(step_sums, at,
                         StepWithProducts<Functor, ShortFloatChanges>{functor, changes});
            },
            &walker.rings_.changes);
    }
    void find_divisors() {
        if (now().update.count() > 0) walker.Walker::find_divisors(now().update, task);
    }

  private:
    const PlaneWalk& walk() const { return walker.walk(projection); }
    WalkStep now() const { return walk().planes_at_step(k); }

    /// Returns the ring of spectra of an image and of its back projection. The first projection has
    /// a ring for each image, the second projection another one.
    index_t spectra_of(ArrayRole image) const {
        return projection > 0 ? 2 : image == ArrayRole::other_image ? 1 : 0;
    }
    /// The next projection loads the planes that the last one has updated.
    void begin_next_projection(ArrayRole object) {
        const IndexRange made = now().update;
        ++projection;
        for_runs(made, {&walker.ring(object)}, [&](index_t z, index_t count) {
            walker.passes_->forward(PlaneKind::object, walker.ring(object).at(z),
                                    {walk().of_object(z), count, spectra_of(ArrayRole::model)},
                                    walker.work_);
        });
    }
    void project(ArrayRole image, ArrayRole object, std::size_t kernel) {
        const WalkStep step = now();
        const index_t spectra = spectra_of(image);
        for_runs(step.image, {&walker.ring(image)}, [&](index_t z, index_t count) {
            walker.passes_->forward(PlaneKind::image, walker.ring(image).at(z),
                                    {walk().of_image(z), count, spectra}, walker.work_);
        });
        if (step.update.count() == 0) return;
        walker.Walker::blur_back(walk(), step, kernel, spectra);
        for_runs(step.update, {&walker.ring(object)}, [&](index_t z, index_t count) {
            walker.passes_->inverse(PlaneKind::object, {walk().of_update(z), count, spectra},
                                    walker.ring(object).at(z), walker.work_);
        });
    }

    std::vector<const PlaneRing*> rings(ArrayRoles roles) const {
        std::vector<const PlaneRing*> rings;
        for (const ArrayRole role : roles)
            if (role != ArrayRole::weights) rings.push_back(&walker.ring(role));
        return rings;
    }
    /// Calls work(RingViews) for runs of planes that lie one after another in the rings of `roles`.
    /// If weights are among these, a run has only planes of equal weights, or none of them.
    template <class Work>
    void for_voxels(ArrayRoles roles, const Work& work, const PlaneRing* also = nullptr) {
        std::vector<const PlaneRing*> all = rings(roles);
        if (also != nullptr) all.push_back(also);
        if (all.size() == roles.size() + (also != nullptr ? 1 : 0))
            for_runs(now().update, all, [&](index_t z, index_t count) {
                work(RingViews{walker, task, z, count});
            });
        else
            walker.for_updates(now().update, all, [&](index_t z, index_t count, bool equal_planes) {
                work(RingViews{walker, task, z, count, equal_planes});
            });
    }
    template <class Functor>
    void add_sums(SumIndex which, const RingViews& at, const Functor& functor) {
        walker.add_blocks(which, sums(which, at.count * walker.object_plane(), functor,
                                      walker.tile().own_window()));
    }
    template <class Functor>
    index_t sums(SumIndex which, index_t count, const Functor& functor,
                 const PlaneWindow& window) const {
        return start_sums(count, WindowedSum{SumPairFunctor<Functor>{functor}, window},
                          walker.place_for_sums(which), walker.work_);
    }
};

const PlaneRing& OperationWalker::ring(ArrayRole role) const {
    switch (role) {
        case ArrayRole::point:
            return rings_.points.front();
        case ArrayRole::correction:
            return rings_.corrections;
        case ArrayRole::other_object:
            return rings_.agreements;
        case ArrayRole::data:
            return rings_.data;
        case ArrayRole::held_out:
            return rings_.held_out;
        // The data of a linear system are read only once.
        case ArrayRole::model:
            return traits_.solves_system ? rings_.data : rings_.ratios;
        case ArrayRole::other_image:
            return rings_.other_ratios;
        case ArrayRole::divisors:
            return rings_.divisors;
        case ArrayRole::residual:
            return rings_.residuals;
        case ArrayRole::product:
            return rings_.products;
        case ArrayRole::pixel_weights:
        case ArrayRole::weights:
        case ArrayRole::solution:
        case ArrayRole::direction:
            break;
    }
    throw InternalError("an array that walks do not have in a ring of its own");
}

void OperationWalker::upload(index_t k, const WalkTask& task) {
    const WalkStep first = walk(0).planes_at_step(k),
                   last = walk(chained(task) - 1).planes_at_step(k);
    const bool restarts = task.starts.front().restart;
    if (traits_.solves_system) {
        copy_in(rings_.newest, arrays_.direction, first.load);
        copy_in(rings_.residuals, arrays_.residual, last.update);
        return;
    }
    copy_in(rings_.newest, arrays_.newest, first.load);
    if (arrays_.before && !restarts) copy_in(rings_.before, arrays_.before, first.load);
    upload_image(first.image, task);
    if (arrays_.change && !restarts) copy_in(rings_.changes, arrays_.change, last.update);
    upload_weights(k, first.update);
}

void OperationWalker::work(index_t k, const WalkTask& task) {
    WalkOperations operations{{}, *this, k, task};
    run_iteration(method_, operations);
}

void OperationWalker::download(index_t k, const WalkTask& task) {
    const IndexRange planes = walk(chained(task) - 1).planes_at_step(k).update;
    if (traits_.solves_system) {
        copy_out(rings_.products, arrays_.product, planes);
        return;
    }
    copy_out(rings_.corrections, arrays_.target(), planes);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, planes);
}

}  // namespace convolume::deconvolve
