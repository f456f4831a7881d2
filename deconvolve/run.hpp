// SPDX-License-Identifier: Apache-2.0
#pragma once
// One execution on any set of arrays, which offers
//   object(i), image(i)            its arrays of either extent
//   blur(object, image)            A, and blur_back(image, object) its adjoint
//   for_each(extent, stage)        stage(i) for every i below a count, or stage(i, neighbors) for
//                                  every voxel of a Grid; sum(extent, stage) also adds the results
//                                  up, in an order of its own that is always the same
//   write(values, array, first, count), read(…)   between the host and an array
//   staging, threads()             host memory to transfer from, and the host's threads.

#include <chrono>

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
                     const std::function<void(const Iteration&)>& on_iteration) {
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

    IterationProgress progress(context, on_iteration, problem.options.iterations);
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
    } else {
        outcome = solve_wiener(arrays, problem, loaded, progress);
    }
    DeconvolveReport& report = outcome.report;
    report.background = background;
    report.photons = loaded.photons;
    report.negative_pixels = loaded.negative_pixels;
    store_result(result, problem.object, problem.image_at, Arrays::staging, arrays.threads(),
                 report.executed, [&](float* values, index_t first, index_t count) {
                     arrays.read(values, outcome.estimate, first, count);
                 });
    report.executed.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace convolume::deconvolve
