// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search for the weight of a roughness, on the two halves of the photons of a part of the
// image, which record the same object with independent noise.

#include <array>

#include "deconvolve/estimates/coarse_start.hpp"

namespace convolume::deconvolve {

struct FoundRoughness {
    double weight = 0;  ///< for a half of the photons
    int searched = 0;   ///< number of iterations that the search took
};

/// Returns the weight with which the second half's estimate is nearest to a reference: the first
/// half's estimate with so small a weight that it predicts the second half no better than a larger
/// one. Such a reference has noise, but hardly any bias, so that the distance to it is least where
/// the error of the second half's estimate is. (The prediction itself hardly depends on noise that
/// the PSF hides.) Both stages begin with `first` and go on by a factor, each restoration starting
/// from the last one. A parabola through the logarithms of three weights gives the result. `run`
/// gives an initial estimate, and gets reports of the iterations.
FoundRoughness find_roughness(const RestoredLevel& level, const std::array<Volume, 2>& halves,
                              double first, int threads, const DeconvolveRun& run,
                              const ExecutionContext& context);

}  // namespace convolume::deconvolve
