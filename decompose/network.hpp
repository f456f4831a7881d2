// SPDX-License-Identifier: Apache-2.0
#pragma once
// Networks of butterflies between planes: they make one plane of each of P parts of the undivided
// planes, and undivided planes of parts. Factors depend on z alone, so that they are equal for all
// samples of a row.
//
// Undivided rows are x(n + q·M), M = K/R: R = P rows for complex data, 2P for real data. Part rows
// are rows of part p at plane n. Real data with P > 1 have two rows of part 0, at n and at n + M,
// before those of the other parts. With P = 1 there is one undivided row and one part row.

#include <array>
#include <complex>

#include "convolume/shape.hpp"

namespace convolume::decompose {

inline constexpr int max_parts = 16;
inline constexpr int max_rows = 2 * max_parts;

/// Numbers of rows of undivided data, and of rows of parts, that one network connects.
struct NetworkRows {
    int undivided;
    int parts;
};
NetworkRows network_rows(bool complex_data, int parts);

/// Number of samples in a vector of the widest instruction set. Rows are processed in multiples of
/// this number.
inline constexpr index_t row_quantum = 16;

/// Factors of the parts at plane n: e^{-2πi n f/K} to split, with f the first frequency of the
/// part, and the conjugate divided by P to merge.
template <class Real>
using PlaneFactors = std::array<std::complex<Real>, max_parts>;

/// Equal spans of the rows of one network. Real and imaginary parts of complex rows alternate.
template <class Real>
struct NetworkSpan {
    std::array<const Real*, max_rows> in;
    std::array<Real*, max_rows> out;
    /// Whether a row of `out`, which is then aligned to 64 bytes, is written past the caches.
    std::array<bool, max_rows> past_cache;
    index_t samples = 0;  ///< a multiple of row_quantum
};

template <class Real>
void split_span(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                const NetworkSpan<Real>& span);
template <class Real>
void merge_span(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                const NetworkSpan<Real>& span);

}  // namespace convolume::decompose
