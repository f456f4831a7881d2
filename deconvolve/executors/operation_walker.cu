// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"
#include "deconvolve/methods/registry.hpp"

namespace convolume::deconvolve {

/// Some planes of the arrays, as functors see them.
struct OperationWalker::RingViews {
    const OperationWalker& of;
    const WalkTask& task;
    index_t z, count;
    bool alike = false;  ///< their weights are

    float* object(ArrayRole slot) const { return of.ring(slot).at(z); }
    float* image(ArrayRole slot) const { return of.ring(slot).at(z); }
    ImagePixels data() const { return of.pixels(z); }
    const float* held() const {
        return task.settings.held_share > 0 ? of.rings_.held.at(z) : nullptr;
    }
    Weights weights() const { return of.weights(z, count, alike); }
    PixelNumbers pixel_numbers() const { return of.pixel_numbers(z); }
};

/// The operations of step k of an iteration (methods/method.hpp).
struct OperationWalker::WalkOperations {
    static constexpr bool steps_overwrite_neighbors = true;
    using ArrayRoles = std::initializer_list<ArrayRole>;

    OperationWalker& of;
    index_t k;
    const WalkTask& task;
    std::size_t projection = 0;  ///< and the walk that makes it
    bool has_blurred = false;

    const StepSettings& settings() const { return task.settings; }
    const StepStart& start() const { return task.starts.front(); }

    void load_point() { of.load_points(now().load, start()); }

    void blur(ArrayRole object, ArrayRole image) {
        if (has_blurred) begin_next_projection(object);
        has_blurred = true;
        const WalkStep step = now();
        if (step.image.count() == 0) return;
        of.Walker::blur(walk(), step, spectra_of(image));
        for_runs(step.image, {&of.ring(image)}, [&](index_t z, index_t count) {
            of.passes_->inverse(PlaneKind::image, {walk().of_image(z), count, spectra_of(image)},
                                of.ring(image).at(z), of.work_);
        });
    }
    void blur_back(ArrayRole image, ArrayRole object) { project(image, object, 0); }
    void back_project_unmatched(ArrayRole image, ArrayRole object) { project(image, object, 1); }

    template <class Make>
    void each_pixel(ArrayRoles slots, const Make& make) {
        for_runs(now().image, rings(slots), [&](index_t z, index_t count) {
            start_loop(count * of.image_plane(), make(RingViews{of, task, z, count}), of.work_);
        });
    }
    template <class Make>
    void sum_pixels(SumIndex which, ArrayRoles slots, const Make& make) {
        of.for_counted(now().image, [&](const IndexRange& part, bool counted) {
            for_runs(part, rings(slots), [&](index_t z, index_t count) {
                const index_t blocks =
                    sums(which, count * of.image_plane(), make(RingViews{of, task, z, count}),
                         of.tile().counted_window());
                if (counted) of.add_blocks(which, blocks);
            });
        });
    }
    template <class Make>
    void each_voxel(ArrayRoles slots, const Make& make) {
        for_voxels(slots, [&](const RingViews& at) {
            start_loop(at.count * of.object_plane(), make(at), of.work_);
        });
    }
    template <class Make>
    void sum_voxels(SumIndex which, ArrayRoles slots, const Make& make) {
        for_voxels(slots, [&](const RingViews& at) { add_sums(which, at, make(at)); });
    }
    template <class Make>
    void step(ArrayRoles slots, const Make& make) {
        for_voxels(
            slots,
            [&](const RingViews& at) {
                const auto functor = make(at);
                if (!of.arrays_.change) {
                    start_loop(at.count * of.object_plane(), functor, of.work_);
                    return;
                }
                const ShortFloatChanges changes{of.rings_.changes.short_at(at.z), !start().restart,
                                                start().last_format, start().format};
                using Functor = std::decay_t<decltype(functor)>;
                add_sums(step_sums, at,
                         StepWithProducts<Functor, ShortFloatChanges>{functor, changes});
            },
            &of.rings_.changes);
    }
    void find_divisors() {
        if (now().update.count() > 0) of.Walker::find_divisors(now().update, task);
    }

  private:
    const PlaneWalk& walk() const { return of.walk(projection); }
    WalkStep now() const { return walk().step(k); }

    /// The ring of spectra of an image and of what it is projected back to: in the first projection
    /// one for each image, in the second a further one.
    index_t spectra_of(ArrayRole image) const {
        return projection > 0 ? 2 : image == ArrayRole::other_image ? 1 : 0;
    }
    /// What the last projection has updated is what the next one loads.
    void begin_next_projection(ArrayRole object) {
        const IndexRange made = now().update;
        ++projection;
        for_runs(made, {&of.ring(object)}, [&](index_t z, index_t count) {
            of.transform(PlaneKind::object, of.ring(object).at(z),
                         {walk().of_object(z), count, spectra_of(ArrayRole::model)});
        });
    }
    void project(ArrayRole image, ArrayRole object, std::size_t kernel) {
        const WalkStep step = now();
        const index_t spectra = spectra_of(image);
        for_runs(step.image, {&of.ring(image)}, [&](index_t z, index_t count) {
            of.transform(PlaneKind::image, of.ring(image).at(z),
                         {walk().of_image(z), count, spectra});
        });
        if (step.update.count() == 0) return;
        of.Walker::blur_back(walk(), step, kernel, spectra);
        for_runs(step.update, {&of.ring(object)}, [&](index_t z, index_t count) {
            of.passes_->inverse(PlaneKind::object, {walk().of_update(z), count, spectra},
                                of.ring(object).at(z), of.work_);
        });
    }

    std::vector<const PlaneRing*> rings(ArrayRoles slots) const {
        std::vector<const PlaneRing*> rings;
        for (const ArrayRole slot : slots)
            if (slot != ArrayRole::weights) rings.push_back(&of.ring(slot));
        return rings;
    }
    /// Calls work(At) for runs of planes that lie one after another in the rings of `slots`, and
    /// whose weights are alike or not if these are among them.
    template <class Work>
    void for_voxels(ArrayRoles slots, const Work& work, const PlaneRing* also = nullptr) {
        std::vector<const PlaneRing*> all = rings(slots);
        if (also != nullptr) all.push_back(also);
        if (all.size() == slots.size() + (also != nullptr ? 1 : 0))
            for_runs(now().update, all, [&](index_t z, index_t count) {
                work(RingViews{of, task, z, count});
            });
        else
            of.for_updates(now().update, all, [&](index_t z, index_t count, bool alike) {
                work(RingViews{of, task, z, count, alike});
            });
    }
    template <class Functor>
    void add_sums(SumIndex which, const RingViews& at, const Functor& functor) {
        of.add_blocks(which,
                      sums(which, at.count * of.object_plane(), functor, of.tile().own_window()));
    }
    template <class Functor>
    index_t sums(SumIndex which, index_t count, const Functor& functor,
                 const PlaneWindow& window) const {
        return start_sums(count, WindowedSum{SumPairFunctor<Functor>{functor}, window},
                          of.place_for_sums(which), of.work_);
    }
};

const PlaneRing& OperationWalker::ring(ArrayRole slot) const {
    switch (slot) {
        case ArrayRole::point:
            return rings_.points.front();
        case ArrayRole::correction:
            return rings_.corrections;
        case ArrayRole::other_object:
            return rings_.agreements;
        case ArrayRole::data:
            return rings_.data;
        case ArrayRole::held:
            return rings_.held;
        // The data of a linear system are read but once.
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
        case ArrayRole::weights:
        case ArrayRole::solution:
        case ArrayRole::direction:
            break;
    }
    throw InternalError("an array that walks do not have in a ring of its own");
}

void OperationWalker::upload(index_t k, const WalkTask& task) {
    const WalkStep first = walk(0).step(k), last = walk(chained(task) - 1).step(k);
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
    WalkOperations run{*this, k, task};
    visit_method(method_, [&](auto method) {
        decltype(method)::iterate(run);
        return true;
    });
}

void OperationWalker::download(index_t k, const WalkTask& task) {
    const IndexRange planes = walk(chained(task) - 1).step(k).update;
    if (traits_.solves_system) {
        copy_out(rings_.products, arrays_.product, planes);
        return;
    }
    copy_out(rings_.corrections, arrays_.target(), planes);
    if (arrays_.change) copy_out(rings_.changes, arrays_.change, planes);
}

}  // namespace convolume::deconvolve
