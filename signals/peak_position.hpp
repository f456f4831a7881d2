// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of peaks between samples.

#include <complex>
#include <vector>

#include "convolume/correlation.hpp"

namespace convolume {

struct RefinedPeak {
    double sample_snr = 0;  ///< |ρ| at the middle one
    double offset = 0;      ///< position relative to the middle one of the samples
    double snr = 0;         ///< |ρ| at the peak
    double phase = 0;       ///< argument of ρ
};

/// Returns the number of samples on each side of a peak that refine_peak() needs.
index_t peak_margin(PeakPosition position);

/// Refines a peak from 2 · peak_margin() + 1 values of ρ, of which the middle one is the largest
/// sample. Does not refine beside values that are not finite.
RefinedPeak refine_peak(const std::vector<std::complex<double>>& rho, PeakPosition position,
                        bool is_complex);

}  // namespace convolume
