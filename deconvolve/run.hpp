// SPDX-License-Identifier: Apache-2.0
#pragma once
// One execution on any set of arrays, which offers
//   object(i), image(i)            its arrays of either extent
//   blur(object, image)            A, and blur_back(image, object) its adjoint;
//                                  back_project_unmatched(image, object) the back projector of wb
//   for_each(extent, stage)        stage(i) for every i below a count, or stage(i, neighbors) for
//                                  every voxel of a Grid; sum(extent, stage) also adds the results
//                                  up, in an order of its own that is always the same
//   write(values, array, first, count), read(…)   between the host and an array
//   staging, threads()             host memory to transfer from, and the host's threads
//   has_passes                     whether an iteration is two calls instead: compare(point, …)
//                                  and step(point, …), after find_weights(); such arrays have only
//                                  some of the above (pass_arrays.cuh)

#include <chrono>

#include "convolume/error.hpp"
#include "deconvolve/photon_scale.hpp"
#include "deconvolve/thinning.hpp"
#include "deconvolve/wiener.hpp"

namespace convolume::deconvolve {

/// One photon in 2³ is held out.
inline constexpr int held_out_halvings = 3;

/// Finds the number of iterations with some photons set apart, then takes as many with all.
template <class Arrays>
Outcome run_held_out(Arrays& arrays, const Problem& problem, const LoadedImage& image,
                     IterationProgress& progress) {
    const index_t pixels = element_count(problem.image);
    float* const data = arrays.image(0);
    float* const held = arrays.image(2);
    constexpr float share = 1.0F / (1 << held_out_halvings);
    arrays.for_each(pixels,
                    SetApart{data, held, held_out_halvings, static_cast<float>(image.photons.gain),
                             static_cast<float>(image.photons.offset), 1, Thinning::hold_out});
    LoadedImage rest = image;
    rest.mean *= 1 - share;
    rest.background *= 1 - share;
    rest.photons.offset *= 1 - share;
    rest.start_scale = 1 - share;
    const int most = problem.options.iterations;
    progress.begin(0, 0.5, most);
    const Outcome search =
        RichardsonLucy<Arrays>(arrays, problem, rest, HeldOut{held, share / (1 - share)})
            .run(progress, most);
    arrays.for_each(pixels, AddScaled{data, held, 1});
    const int best = std::max(1, search.best);
    progress.begin(0.5, 1, best);
    Outcome outcome = RichardsonLucy<Arrays>(arrays, problem, image).run(progress, best);
    outcome.report.searched = search.report.iterations;
    return outcome;
}

template <class Arrays>
DeconvolveReport run(Arrays& arrays, const Problem& problem, const ConstImageView& image,
                     const ImageView& result, const ExecutionContext& context,
                     const DeconvolveRun& along) {
    const auto begin = std::chrono::steady_clock::now();
    const bool poisson = problem.options.method != DeconvolveMethod::wiener;
    check_image(image, arrays.threads());
    double background =
        problem.options.background ? *problem.options.background : estimate_background(image);
    if (poisson) background = std::max(background, 0.0);
    LoadedImage loaded = load_image(image, poisson, Arrays::staging, arrays.threads(),
                                    [&](const float* values, index_t first, index_t count) {
                                        arrays.write(values, arrays.image(0), first, count);
                                    });
    loaded.background = background;

    if (along.start.data != nullptr) {
        check_image(along.start, arrays.threads());
        loaded.load_start = [&](float* estimate, float outside) {
            load_start(along.start, problem.object, problem.image_at, outside, Arrays::staging,
                       [&](const float* values, index_t first, index_t count) {
                           arrays.write(values, estimate, first, count);
                       });
        };
    }
    const auto store = [&](const float* estimate, const ImageView& target,
                           ExecutionReport& clamped) {
        const Index3 at = target.shape == problem.object ? Index3{} : problem.image_at;
        store_result(target, problem.object, at, Arrays::staging, arrays.threads(), clamped,
                     [&](float* values, index_t first, index_t count) {
                         arrays.read(values, estimate, first, count);
                     });
    };
    IterationProgress progress(
        context, along, problem.options.iterations,
        [&](const float* estimate, const ImageView& target) {
            if (target.shape != problem.object && target.shape != problem.image)
                throw InvalidArgument(message("an estimate is read in the image's shape ",
                                              to_string(problem.image), " or the object's ",
                                              to_string(problem.object), ", not in ",
                                              to_string(target.shape), " (z×y×x)"));
            ExecutionReport clamped;
            store(estimate, target, clamped);
        });
    Outcome outcome;
    if (problem.draws_photons()) {
        if (problem.options.photons)
            loaded.photons = *problem.options.photons;
        else if (const auto seen = estimate_photon_scale(image, arrays.threads()))
            loaded.photons = *seen;
    }
    if (problem.options.hold_out) {
        outcome = run_held_out(arrays, problem, loaded, progress);
    } else if (poisson) {
        outcome = RichardsonLucy<Arrays>(arrays, problem, loaded)
                      .run(progress, problem.options.iterations);
    } else if constexpr (!Arrays::has_passes) {
        outcome = solve_wiener(arrays, problem, loaded, progress);
    }
    DeconvolveReport& report = outcome.report;
    report.background = background;
    report.photons = loaded.photons;
    report.negative_pixels = loaded.negative_pixels;
    store(outcome.estimate, result, report.executed);
    report.executed.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace convolume::deconvolve
