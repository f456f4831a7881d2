// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients by walks. All arrays are in host memory; a walk brings the direction d and
// the residual r up and p = (AᵀA + K) d down, with the sums d·p, p², r·p and r². These tell the
// length of the step, l = r² / d·p, and what will be left of the residual: |r - l p|² = r² - 2 l
// r·p
// + l² p². So the next direction is known too, and the host makes a plane's step just before the
// next walk loads it.

#include <cmath>
#include <vector>

#include "deconvolve/executors/walk_executor.cuh"

namespace convolume::deconvolve {

namespace {

/// solution += length d; residual -= length p; d <- residual + factor d.
struct Advanced {
    float* solution;
    float* residual;
    float* direction;
    const float* product;
    float length, factor;
    void operator()(index_t i) const {
        const float d = direction[i];
        const float r = residual[i] - length * product[i];
        solution[i] += length * d;
        residual[i] = r;
        direction[i] = r + factor * d;
    }
};

}  // namespace

Outcome WalkSteps::solve_wiener(const LoadedImage& image, IterationProgress& progress) {
    WalkTask task;
    task.kind = WalkTask::Kind::right_hand_side;
    task.noise_to_signal = static_cast<float>(options_.noise_to_signal);
    for_each(pixels_, Shift{arrays_.data.data(), -static_cast<float>(image.background)});
    walk(task, nullptr);
    unadvanced_ = 0;
    for_each(voxels_, Fill{arrays_.newest.data(), 0});
    for_each(voxels_, Copy{arrays_.residual.data(), arrays_.direction.data()});

    task.kind = WalkTask::Kind::iteration;
    Outcome outcome;
    DeconvolveReport& report = outcome.report;
    constexpr double usual_stop = 1e-3;
    const int iterations = options_.iterations;
    double whole = 0;
    float factor = 0;
    for (int k = 1; k <= iterations; ++k) {
        // Several walks load the planes at their borders.
        std::vector<bool> advanced(static_cast<std::size_t>(voxels_ / arrays_.object.samples()),
                                   k == 1);
        const auto advance = [&](const gpu::Range& planes) {
            for (index_t z = planes.begin, end = z; z < planes.end; z = end + 1) {
                for (end = z; end < planes.end && !advanced[static_cast<std::size_t>(end)]; ++end)
                    advanced[static_cast<std::size_t>(end)] = true;
                for_each((end - z) * arrays_.object.samples(),
                         Advanced{arrays_.newest.plane(z), arrays_.residual.plane(z),
                                  arrays_.direction.plane(z), arrays_.product.plane(z), unadvanced_,
                                  factor});
            }
        };
        const WalkSums sums = walk(task, &progress, advance).front();
        const auto [curvature, product_squared] = sums[0];
        const auto [residual_product, left] = sums[1];
        unadvanced_ = 0;
        if (k == 1) whole = left;
        if (!(curvature > 0)) break;  // nothing but rounding is left
        const double length = left / curvature;
        const double next =
            std::max(left - 2 * length * residual_product + length * length * product_squared, 0.0);
        unadvanced_ = static_cast<float>(length);
        factor = static_cast<float>(next / left);
        report.last = {k, iterations, 0, std::sqrt(next / whole), false, 0};
        report.iterations = k;
        progress.finished(report.last);
        if (next == 0 || report.last.residual <= options_.stop.value_or(usual_stop)) break;
    }
    return outcome;
}

}  // namespace convolume::deconvolve
