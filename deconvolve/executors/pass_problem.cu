// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/threads.hpp"
#include "deconvolve/executors/pass_problem.hpp"

namespace convolume::deconvolve {

// A tap of 0 before the others along x makes the image begin at an even sample of the grid, so that
// passes move samples two at a time.
std::optional<PairAxes> pass_axes(const DeconvolutionProblem& problem, index_t least_taps_z) {
    if (!can_convolve_by_passes(problem)) return {};
    Shape3 taps = problem.psf.shape();
    Index3 shift = problem.options.center.index;
    if (!problem.options.boundary)
        for (int a = 0; a < 3; ++a) shift[a] = taps[a] - 1;
    if (shift.x % 2 != 0 && taps.x < problem.object.x) {
        ++taps.x;
        ++shift.x;
    }
    taps.z = std::max(taps.z, std::min(least_taps_z, problem.object.z));
    return pair_axes(problem.object, problem.image, taps, shift);
}

std::optional<PairAxes> whole_plane_axes(const DeconvolutionProblem& problem, int device,
                                         index_t least_taps_z) {
    auto axes = pass_axes(problem, least_taps_z);
    if (!axes) return {};
    auto& [z, y, x] = *axes;
    y.grid = pair_grid_y(device, y.least_grid());
    x.grid = pair_grid_x(device, x.least_grid());
    if (y.grid == 0 || x.grid == 0) return {};
    return axes;
}

namespace {

// Returns the taps scaled to a sum of 1. They are the last of `width` taps along x.
Volume normalized_taps(const ConstImageView& psf, index_t width) {
    const auto* samples = static_cast<const double*>(psf.data);
    const Shape3 shape = psf.shape;
    const index_t rows = shape.z * shape.y;
    const int threads = thread_count(0);
    // Sums of rows do not depend on the number of threads.
    std::vector<double> sums(static_cast<std::size_t>(rows));
    parallel_for(rows, threads, [&](index_t i, int) {
        sums[static_cast<std::size_t>(i)] =
            std::accumulate(samples + i * shape.x, samples + (i + 1) * shape.x, 0.0);
    });
    const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    Volume taps({shape.z, shape.y, width}, PixelType::float32);
    float* const scaled = taps.elements<float>();
    parallel_for(rows, threads, [&](index_t i, int) {
        std::transform(samples + i * shape.x, samples + (i + 1) * shape.x,
                       scaled + (i + 1) * width - shape.x,
                       [&](double sample) { return static_cast<float>(sample / sum); });
    });
    return taps;
}

}  // namespace

PassKernels::PassKernels(const DeconvolutionProblem& problem, const PairAxes& axes)
    : weights_(psf_weights(problem)) {
    for (const ConstImageView& psf : problem.psf_views())
        kernels_.push_back(normalized_taps(psf, axes[2].taps));
    if (problem.traits.has_unmatched)
        kernels_.push_back(normalized_taps(problem.unmatched.view(), axes[2].taps));
}

PlaneKernels PassKernels::views() const {
    PlaneKernels all;
    for (const Volume& kernel : kernels_) all.taps.push_back(kernel.view());
    all.weights = weights_;
    return all;
}

}  // namespace convolume::deconvolve
