// SPDX-License-Identifier: Apache-2.0
#pragma once
// Specimens whose truth is known, recorded by the tests' own direct sums and Poisson noise.

#include <vector>

#include "convolume/deconvolver.hpp"
#include "tests/support/array.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

/// Gaussian of the given standard deviations whose peak is at `center`, sum 1.
Array gaussian_psf(const Shape3& shape, const Index3& center, const std::array<double, 3>& sigma);

/// Gaussian in one plane, so wide that images are coarsened twice along y and x.
Array wide_psf();

/// PSF of positive random samples, sum 1.
Array random_psf(Random& random, const Shape3& shape);

struct Bead {
    std::array<double, 3> at;  ///< z, y, x in the image's samples
    double photons = 0;
};

struct Specimen {
    Array truth;     ///< of the image's extents
    Array blurred;   ///< without noise and background
    Array recorded;  ///< Poisson counts
    std::vector<Bead> beads;
};

/// Beads wider than a voxel, placed between voxels at least `apart` from each other, blurred, also
/// from outside the image, and recorded over `background`. With `margin` below 0 beads lie across
/// the image's border.
Specimen bead_specimen(Random& random, const Shape3& shape, const Array& psf, const Index3& center,
                       int beads, double photons, double background, double margin = 4);

/// A count with the Poisson distribution of that mean.
double poisson(Random& random, double mean);

/// Peak signal-to-noise ratio in dB, relative to the truth's largest value.
double psnr(const Array& truth, const Array& result);

/// Distance from a bead's place to the centroid of `result` in a window around it.
double centroid_shift(const Array& result, const Bead& bead, index_t reach = 4);

/// Runs on the CPU, or as `engines` say.
struct Deconvolved {
    Array result;
    DeconvolveReport report;
    std::vector<double> likelihoods;
};
EngineChoice cpu_only(int threads = 0);
Deconvolved deconvolved(const Array& image, const Array& psf, const DeconvolveOptions& options,
                        const EngineChoice& engines = cpu_only());

}  // namespace convolume::testing
