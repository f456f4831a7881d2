// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"
#include "deconvolve/methods/registry.hpp"

namespace convolume::deconvolve {

/// Some planes of the arrays, as functors see them.
struct OperationWalker::At {
    const OperationWalker& of;
    const WalkTask& task;
    index_t z, count;
    bool alike = false;  ///< their weights are

    float* object(Slot slot) const { return of.ring(slot).at(z); }
    float* image(Slot slot) const { return of.ring(slot).at(z); }
    Pixels data() const { return of.pixels(z); }
    const float* held() const {
        return task.settings.held_share > 0 ? of.rings_.held.at(z) : nullptr;
    }
    Weights weights() const { return of.weights(z, count, alike); }
    PixelNumbers pixel_numbers() const { return of.pixel_numbers(z); }
};

/// The operations of step k of an iteration (methods/method.hpp).
struct OperationWalker::Run {
    static constexpr bool steps_overwrite_neighbors = true;
    using Slots = std::initializer_list<Slot>;

    OperationWalker& of;
    index_t k;
    const WalkTask& task;
    std::size_t projection = 0;  ///< and the walk that makes it
    bool has_blurred = false;

    const StepSettings& settings() const { return task.settings; }
    const StepStart& start() const { return task.starts.front(); }

    void load_point() { of.load_points(now().load, start()); }

    void blur(Slot object, Slot image) {
        if (has_blurred) begin_next_projection(object);
        has_blurred = true;
        const WalkStep step = now();
        if (step.image.count() == 0) return;
        of.Walker::blur(walk(), step, spectra_of(image));
        for_runs(step.image, {&of.ring(image)}, [&](index_t z, index_t count) {
            of.passes_->inverse(Side::image, {walk().of_image(z), count, spectra_of(image)},
                                of.ring(image).at(z), of.work_);
        });
    }
    void blur_back(Slot image, Slot object) { project(image, object, 0); }
    void back_project_unmatched(Slot image, Slot object) { project(image, object, 1); }

    template <class Make>
    void each_pixel(Slots slots, const Make& make) {
        for_runs(now().image, rings(slots), [&](index_t z, index_t count) {
            start_loop(count * of.image_plane(), make(At{of, task, z, count}), of.work_);
        });
    }
    template <class Make>
    void sum_pixels(SumIndex which, Slots slots, const Make& make) {
        of.for_counted(now().image, [&](const IndexRange& part, bool counted) {
            for_runs(part, rings(slots), [&](index_t z, index_t count) {
                const index_t blocks =
                    sums(which, count * of.image_plane(), make(At{of, task, z, count}),
                         of.tile().counted_window());
                if (counted) of.add_blocks(which, blocks);
            });
        });
    }
    template <class Make>
    void each_voxel(Slots slots, const Make& make) {
        for_voxels(slots, [&](const At& at) {
            start_loop(at.count * of.object_plane(), make(at), of.work_);
        });
    }
    template <class Make>
    void sum_voxels(SumIndex which, Slots slots, const Make& make) {
        for_voxels(slots, [&](const At& at) { add_sums(which, at, make(at)); });
    }
    template <class Make>
    void step(Slots slots, const Make& make) {
        for_voxels(
            slots,
            [&](const At& at) {
                const auto functor = make(at);
                if (!of.arrays_.change) {
                    start_loop(at.count * of.object_plane(), functor, of.work_);
                    return;
                }
                const ShortChanges changes{of.rings_.changes.short_at(at.z), !start().restart,
                                           start().last_format, start().format};
                using Functor = std::decay_t<decltype(functor)>;
                add_sums(of_step, at, StepWithProducts<Functor, ShortChanges>{functor, changes});
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
    index_t spectra_of(Slot image) const {
        return projection > 0 ? 2 : image == Slot::other_image ? 1 : 0;
    }
    /// What the last projection has updated is what the next one loads.
    void begin_next_projection(Slot object) {
        const IndexRange made = now().update;
        ++projection;
        for_runs(made, {&of.ring(object)}, [&](index_t z, index_t count) {
            of.transform(Side::object, of.ring(object).at(z),
                         {walk().of_object(z), count, spectra_of(Slot::model)});
        });
    }
    void project(Slot image, Slot object, std::size_t kernel) {
        const WalkStep step = now();
        const index_t spectra = spectra_of(image);
        for_runs(step.image, {&of.ring(image)}, [&](index_t z, index_t count) {
            of.transform(Side::image, of.ring(image).at(z), {walk().of_image(z), count, spectra});
        });
        if (step.update.count() == 0) return;
        of.Walker::blur_back(walk(), step, kernel, spectra);
        for_runs(step.update, {&of.ring(object)}, [&](index_t z, index_t count) {
            of.passes_->inverse(Side::object, {walk().of_update(z), count, spectra},
                                of.ring(object).at(z), of.work_);
        });
    }

    std::vector<const PlaneRing*> rings(Slots slots) const {
        std::vector<const PlaneRing*> rings;
        for (const Slot slot : slots)
            if (slot != Slot::weights) rings.push_back(&of.ring(slot));
        return rings;
    }
    /// Calls work(At) for runs of planes that lie one after another in the rings of `slots`, and
    /// whose weights are alike or not if these are among them.
    template <class Work>
    void for_voxels(Slots slots, const Work& work, const PlaneRing* also = nullptr) {
        std::vector<const PlaneRing*> all = rings(slots);
        if (also != nullptr) all.push_back(also);
        if (all.size() == slots.size() + (also != nullptr ? 1 : 0))
            for_runs(now().update, all, [&](index_t z, index_t count) {
                work(At{of, task, z, count});
            });
        else
            of.for_updates(now().update, all, [&](index_t z, index_t count, bool alike) {
                work(At{of, task, z, count, alike});
            });
    }
    template <class Functor>
    void add_sums(SumIndex which, const At& at, const Functor& functor) {
        of.add_blocks(which,
                      sums(which, at.count * of.object_plane(), functor, of.tile().own_window()));
    }
    template <class Functor>
    index_t sums(SumIndex which, index_t count, const Functor& functor,
                 const PlaneWindow& window) const {
        return start_sums(count, SumWithin{AsPair<Functor>{functor}, window},
                          of.place_for_sums(which), of.work_);
    }
};

const PlaneRing& OperationWalker::ring(Slot slot) const {
    switch (slot) {
        case Slot::point:
            return rings_.points.front();
        case Slot::correction:
            return rings_.corrections;
        case Slot::other_object:
            return rings_.agreements;
        case Slot::data:
            return rings_.data;
        case Slot::held:
            return rings_.held;
        // The data of a linear system are read but once.
        case Slot::model:
            return traits_.solves_system ? rings_.data : rings_.ratios;
        case Slot::other_image:
            return rings_.other_ratios;
        case Slot::divisors:
            return rings_.divisors;
        case Slot::residual:
            return rings_.residuals;
        case Slot::product:
            return rings_.products;
        case Slot::weights:
        case Slot::solution:
        case Slot::direction:
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
    Run run{*this, k, task};
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
