// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filtering by its definition, in double precision: sums, post-processing and windows.

#include <complex>
#include <vector>

#include "convolume/filter_options.hpp"

namespace convolume::testing {

using Row = std::vector<std::complex<double>>;

/// Returns sample n of the full convolution; 0 outside it.
std::complex<double> filtered_sample(const Row& taps, const Row& signal, index_t n);

/// Returns samples [range.begin, range.end) of the full convolution, 0 outside it.
Row filtered(const Row& taps, const Row& signal, const SampleRange& range);

double rms(const Row& row);
double norm(const Row& row);  ///< L2 norm

/// Returns the distance between `got` and `want`, relative to want's norm, or to the norm of
/// as many samples of size `level` if it is larger.
double relative_error(const Row& want, const Row& got, double level);

/// Returns the RMS that a random signal has after a filter: |h|₂ rms(x).
double level(const Row& taps, const Row& signal);

struct Window {
    index_t begin, end;  ///< range of samples of which one is stored
};
/// Divides `count` samples into windows.
std::vector<Window> windows_of(const WindowPost& window, index_t count);

}  // namespace convolume::testing
