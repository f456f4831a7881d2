// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths for which FFTs are fast.

#include "convolume/shape.hpp"

namespace convolume {

/// Returns true if n has no prime factor above 7.
bool is_7_smooth(index_t n);

/// Returns the multiple of the 7-smooth `step` that is 7-smooth, at least `n`, and fastest as the
/// grid length of a convolution on the CPU along `axis` (0 is z). The costs of short lengths are in
/// a measured table, those of longer ones are extrapolated by prime factors. Throws InvalidArgument
/// if n or step is outside 1 … 2^58.
index_t good_fft_size(index_t n, index_t step = 1, int axis = 2, bool complex_data = true);

}  // namespace convolume
