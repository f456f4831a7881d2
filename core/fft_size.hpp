// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths the FFT is fast at, and how long it takes at each.

#include "convolume/shape.hpp"

namespace convolume {

/// Whether n has no prime factor above 7.
bool is_7_smooth(index_t n);

/// Predicted cost of one 1D complex transform of 7-smooth length n, in units of the time a
/// transform of length 1024 takes per sample: from a small measured table, a fit by prime factors
/// beyond it. Throws InvalidArgument for lengths that are not 7-smooth.
double fft_cost_per_sample(index_t n);

/// The 7-smooth multiple of the 7-smooth `step` that is at least `n` and costs least: length times
/// (transform + what else each sample costs). Throws InvalidArgument for n or step outside 1 …
/// 2^58.
index_t good_fft_size(index_t n, index_t step = 1);

}  // namespace convolume
