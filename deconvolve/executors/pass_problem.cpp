// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/pass_problem.hpp"

#include <algorithm>

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

PlaneKernels pass_kernels(const DeconvolutionProblem& problem) {
    PlaneKernels all{problem.psf_views(), psf_weights(problem)};
    if (problem.traits.has_unmatched) all.taps.push_back(problem.unmatched.view());
    return all;
}

}  // namespace convolume::deconvolve
