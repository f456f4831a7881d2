// SPDX-License-Identifier: Apache-2.0
#pragma once
// The caller's kernel made ready: checked, normalized, flipped for correlations, trimmed.

#include <complex>

#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

struct KernelFacts {
    Shape3 shape;
    bool complex_taps = false;
    double sum = 0;                   ///< real part, as given
    std::complex<double> factor = 1;  ///< of the normalization
    std::complex<double> normalized_sum = 0;
    double normalized_peak = 0;  ///< largest magnitude, normalized
};

/// Throws InvalidArgument (an extent of 0), BadData (NaN, all zero, a sum of 0 to be normalized).
KernelFacts examine_kernel(const ConstImageView& kernel, KernelNormalization normalization);

/// Samples of `box` of the kernel, normalized, in `type`. With `flip` the kernel is flipped on
/// all axes and conjugated first, and `box` refers to the flipped one. Throws BadData when `type`
/// cannot hold the kernel's peak.
Volume make_taps(const ConstImageView& kernel, const KernelFacts& facts, bool flip, const Box3& box,
                 PixelType type);

}  // namespace convolume
