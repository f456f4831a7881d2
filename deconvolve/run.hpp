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

#include "deconvolve/wiener.hpp"

namespace convolume::deconvolve {

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
    Outcome outcome = poisson ? RichardsonLucy<Arrays>(arrays, problem, loaded).run(progress)
                              : solve_wiener(arrays, problem, loaded, progress);
    DeconvolveReport& report = outcome.report;
    report.background = background;
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
