// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convolume/volume.hpp"

// The Wiener-Butterworth back projector, a kernel for the first steps of an unmatched iteration.
namespace convolume::deconvolve {

/// Taps, of the PSF's extents and center, whose adjoint stands in for that of the PSF:
///
///     B = H / (|H|² + α) / √(1 + ε w¹⁰),  ε = 1 / (β² + α)² - 1,  w = Σₐ (fₐ dₐ)²,
///
/// H the discrete transform of the PSF (sum 1) about `center`, f the frequency in cycles a sample,
/// d the PSF's full width at half its maximum along an axis through its peak, which is taken for
/// the resolution limit, and β the mean over the axes of the largest |H| at that limit, so that B
/// is there β. Their sum is made 1. Guo et al., Nat. Biotechnol. 38:1337 (2020): a Wiener filter
/// times a Butterworth filter of order 10. `psf` is float64; α is above 0.
Volume wiener_butterworth_taps(const Volume& psf, const Index3& center, double alpha, int threads);

}  // namespace convolume::deconvolve
