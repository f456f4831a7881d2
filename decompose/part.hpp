// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which frequencies a part carries, and the factors that follow from it.
//
// With K = M·step, keeping only the frequencies step·ν + first of x gives
//   part(n) = Σ_q x(n + qM) e^{-2πi first (n + qM)/K},  n < M,
// so a part is the volume modulated by one frequency and folded to its own length.

#include <complex>

#include "decompose/split.hpp"

namespace convolume::decompose {

/// FFT(part)(ν) = X(step·ν + first).
struct PartFrequencies {
    index_t first;
    index_t step;
};
PartFrequencies part_frequencies(bool complex_data, int index, int count);

/// e^{-2πi k/n} for 0 <= k, 0 < n, to the last bit of double.
std::complex<double> root_of_unity(index_t k, index_t n);

/// Throws InvalidArgument for layouts that cannot be split.
void check_layout(const SplitLayout& layout);

/// layout.stored within the steps that there are.
StepRange stored_steps(const SplitLayout& layout);

}  // namespace convolume::decompose
