// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop of Richardson and Lucy's iteration: where steps start from, and when they end.

#include "deconvolve/steps.hpp"

namespace convolume::deconvolve {

/// So many iterations in a row without a better prediction of what is held out are the end.
inline constexpr int patience = 4;
/// A prediction is better where its error is less by this share: a flat curve falls on by chance,
/// while grains grow that the PSF hides from the prediction.
inline constexpr double least_gain = 3e-5;
/// So many steps in a row without consensus are the end of rlgc: single draws disagree by chance.
inline constexpr int long_dispute = 5;

/// At most `iterations`, from the beginning. `held_share` as of Steps::begin.
Outcome iterate(Steps& steps, const Problem& problem, const LoadedImage& image, float held_share,
                IterationProgress& progress, int iterations);

}  // namespace convolume::deconvolve
