// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "deconvolve/pass_problem.hpp"

namespace convolume::deconvolve {

namespace {

// Steps of Richardson and Lucy that look at one voxel at a time, of an object that ends in
// darkness.
bool goes_by_passes(const DeconvolveOptions& options) {
    const bool plain = options.method == DeconvolveMethod::richardson_lucy ||
                       options.method == DeconvolveMethod::scaled_heavy_ball;
    return plain && (!options.boundary || options.boundary->kind == BoundaryKind::zero);
}

double sum_of(const Volume& psf) {
    const auto* const samples = static_cast<const double*>(psf.view().data);
    return std::accumulate(samples, samples + element_count(psf.shape()), 0.0);
}

}  // namespace

// Samples are moved two at a time where the image begins at an even sample of the grid: taps along
// x may get a 0 before them.
std::optional<gpu::PairAxes> pass_axes(const Problem& problem, int device) {
    // A PSF without light is refused where all methods refuse it.
    if (!goes_by_passes(problem.options) || !(sum_of(problem.psf) > 0)) return {};
    Shape3 taps = problem.psf.shape();
    Index3 shift = problem.options.center.index;
    if (!problem.options.boundary)
        for (int a = 0; a < 3; ++a) shift[a] = taps[a] - 1;
    if (shift.x % 2 != 0 && taps.x < problem.object.x) {
        ++taps.x;
        ++shift.x;
    }
    return gpu::pair_axes(device, problem.object, problem.image, taps, shift);
}

Volume normalized_taps(const Volume& psf, index_t width) {
    const auto* samples = static_cast<const double*>(psf.view().data);
    const double sum = sum_of(psf);
    const Shape3 shape = psf.shape();
    Volume taps({shape.z, shape.y, width}, PixelType::float32);
    float* row = taps.elements<float>();
    for (index_t i = 0; i < shape.z * shape.y; ++i, row += width, samples += shape.x)
        std::transform(samples, samples + shape.x, row + (width - shape.x),
                       [&](double sample) { return static_cast<float>(sample / sum); });
    return taps;
}

}  // namespace convolume::deconvolve
