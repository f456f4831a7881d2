// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filtering by its definition, in double precision: sums, post-processing and windows.

#include <complex>
#include <vector>

#include "convolume/filter_options.hpp"

namespace convolume::testing {

using Row = std::vector<std::complex<double>>;

/// Sample n of the full convolution; 0 outside it.
std::complex<double> filtered_sample(const Row& taps, const Row& signal, index_t n);

/// Samples [range.begin, range.end) of the full convolution, 0 outside it.
Row filtered(const Row& taps, const Row& signal, const SampleRange& range);

double rms(const Row& row);
double norm(const Row& row);  ///< L2

/// How far `got` is from `want`, relative to want's norm or to that of so many samples of size
/// `level`, should it be larger.
double relative_error(const Row& want, const Row& got, double level);

/// The size that random signals have after a filter: |h|₂ rms(x).
double level(const Row& taps, const Row& signal);

struct Window {
    index_t begin, end;  ///< of the samples that it is taken of
};
/// Windows of `count` samples.
std::vector<Window> windows_of(const WindowPost& window, index_t count);

}  // namespace convolume::testing
