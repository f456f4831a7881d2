// SPDX-License-Identifier: Apache-2.0
#pragma once
// The butterflies between planes: P parts at one plane from the planes they are made of, and back.
// All factors depend on z alone, so a network runs over rows with scalar factors.
//
// Undivided rows are x(n + q·M), M = K/R: R = P rows for complex data, 2P for real data. Part rows
// are part p at plane n; real data with P > 1 has its part 0 twice, at n and at n + M, before the
// others. With P = 1 there is one row of either kind.

#include <array>
#include <complex>

#include "convolume/shape.hpp"

namespace convolume::decompose {

inline constexpr int max_parts = 16;
inline constexpr int max_rows = 2 * max_parts;

/// Rows of undivided data, or rows of parts, that meet in one network.
struct NetworkRows {
    int undivided;
    int parts;
};
NetworkRows network_rows(bool complex_data, int parts);

/// Rows are processed in multiples of this many samples: a vector of the widest instruction set.
inline constexpr index_t row_quantum = 16;

/// One factor for each part at one plane: forward e^{-2πi n f/K}, with f the first frequency of the
/// part; for the merge its conjugate over P.
template <class Real>
using PlaneFactors = std::array<std::complex<Real>, max_parts>;

/// Rows in and out of one network; complex rows hold real and imaginary parts alternating.
template <class Real>
struct NetworkBlock {
    std::array<const Real*, max_rows> in;
    std::array<Real*, max_rows> out;
    /// Rows written past the caches; those must be aligned to 64 bytes.
    std::array<bool, max_rows> stream;
    index_t samples = 0;  ///< a multiple of row_quantum
};

template <class Real>
void split_block(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                 const NetworkBlock<Real>& block);
template <class Real>
void merge_block(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                 const NetworkBlock<Real>& block);

}  // namespace convolume::decompose
