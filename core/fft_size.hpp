// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths for which FFTs are fast, and the cost of each.

#include "convolume/shape.hpp"

namespace convolume {

/// Returns true if n has no prime factor above 7.
bool is_7_smooth(index_t n);

/// Predicts the cost per sample of a 1D complex transform of 7-smooth length n, relative to length
/// 1024. Small lengths are in a measured table, longer ones are extrapolated by prime factors.
/// Throws InvalidArgument if n is not 7-smooth.
double fft_cost_per_sample(index_t n);

/// Returns the multiple of the 7-smooth `step` that is 7-smooth, at least `n` and costs least. The
/// cost is the length times the cost of a sample (transform and memory). Throws InvalidArgument if
/// n or step is outside 1 … 2^58.
index_t good_fft_size(index_t n, index_t step = 1);

}  // namespace convolume
