// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/executors/executor.hpp"

// (AᵀA + K) x = Aᵀ(y - b) by conjugate gradients, on any set of arrays.
namespace convolume::deconvolve {

/// The solution is the first object array.
template <class Arrays>
Outcome solve_wiener(Arrays& arrays, const Problem& problem, const LoadedImage& image,
                     IterationProgress& progress) {
    constexpr double usual_stop = 1e-3;
    const index_t voxels = element_count(problem.object);
    const auto ratio = static_cast<float>(problem.options.noise_to_signal);
    float* const recorded = arrays.image(0);
    float* const solution = arrays.object(0);
    float* const residual = arrays.object(1);
    float* const direction = arrays.object(2);
    float* const product = arrays.object(3);

    arrays.for_each(element_count(problem.image),
                    Shift{recorded, -static_cast<float>(image.background)});
    arrays.blur_back(recorded, residual);
    arrays.for_each(voxels, Fill{solution, 0});
    arrays.for_each(voxels, Copy{residual, direction});
    const double whole = arrays.sum(voxels, Dot{residual, residual});
    double left = whole;

    Outcome outcome;
    DeconvolveReport& report = outcome.report;
    const int iterations = problem.options.iterations;
    for (int k = 1; k <= iterations && left > 0; ++k) {
        arrays.blur(direction, recorded);  // the image itself has served
        progress.at(0.5);
        arrays.blur_back(recorded, product);
        arrays.for_each(voxels, AddScaled{product, direction, ratio});
        const double curvature = arrays.sum(voxels, Dot{direction, product});
        if (!(curvature > 0)) break;  // nothing but rounding is left
        const double before = left;
        left = arrays.sum(voxels, Advance{solution, residual, direction, product,
                                          static_cast<float>(before / curvature)});
        arrays.for_each(voxels,
                        NextDirection{direction, residual, static_cast<float>(left / before)});
        report.last = {k, iterations, 0, std::sqrt(left / whole), false, 0};
        report.iterations = k;
        progress.finished(report.last);
        if (report.last.residual <= problem.options.stop.value_or(usual_stop)) break;
    }
    return outcome;
}

}  // namespace convolume::deconvolve
