// SPDX-License-Identifier: Apache-2.0
#pragma once
// Specimens with a known truth, recorded by the tests' own direct sums and Poisson noise.

#include <vector>

#include "convolume/deconvolver.hpp"
#include "tests/support/array.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

/// Returns a Gaussian of the given standard deviations with its peak at `center` and the sum 1.
Array gaussian_psf(const Shape3& shape, const Index3& center, const std::array<double, 3>& sigma);

/// Returns a Gaussian in one plane, so wide that images are coarsened twice along y and x.
Array wide_psf();

/// Returns a PSF of positive random samples with the sum 1.
Array random_psf(Random& random, const Shape3& shape);

struct Bead {
    std::array<double, 3> at;  ///< z, y, x in samples of the image
    double photons = 0;
};

struct Specimen {
    Array truth;     ///< the object within the image
    Array blurred;   ///< the recording without noise and background
    Array recorded;  ///< Poisson counts
    std::vector<Bead> beads;
};

/// Records beads wider than a voxel, placed between voxels at least `apart` from each other,
/// blurred also from outside the image, over `background`. With `margin` below 0, beads lie across
/// the image's border.
Specimen bead_specimen(Random& random, const Shape3& shape, const Array& psf, const Index3& center,
                       int beads, double photons, double background, double margin = 4);

/// Returns a recording of five beads over a background of 2. The PSF has its peak in the middle.
Array specimen_image(Random& random, const Shape3& shape, const Array& psf, double photons = 400);

/// Draws a count from the Poisson distribution of the given mean.
double poisson(Random& random, double mean);

/// Returns the peak signal-to-noise ratio in dB, relative to the truth's largest value.
double psnr(const Array& truth, const Array& result);

/// Returns the distance of a bead from the centroid of `result` in a window around the bead.
double centroid_shift(const Array& result, const Bead& bead, index_t reach = 4);

/// Result of a deconvolution on the CPU or on given engines, with each iteration's likelihood.
struct Deconvolved {
    Array result;
    DeconvolveReport report;
    std::vector<double> likelihoods;
};
EngineChoice cpu_only(int threads = 0);
Deconvolved deconvolved(const Array& image, const Array& psf, const DeconvolveOptions& options,
                        const EngineChoice& engines = cpu_only(),
                        const ConstImageView& pixel_weights = {});

}  // namespace convolume::testing
