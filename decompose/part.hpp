// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a split: their shapes, and the frequencies that they carry.
//
// Let x have K = M·spacing planes. Keeping only its frequencies spacing·ν + first gives
//   part(n) = Σ_q x(n + qM) e^{-2πi first (n + qM)/K},  n < M,
// so a part is the volume, modulated by one frequency and folded to the part's length.

#include <complex>

#include "convolume/shape.hpp"

namespace convolume {

/// Part `index` of a DIF split into `count` parts along z, where `z_grid` is the length before the
/// split. {0, 1} is the undivided problem.
struct PartId {
    int index = 0;
    int count = 1;
    index_t z_grid = 0;
    friend bool operator==(const PartId&, const PartId&) = default;
};

namespace decompose {

/// Planes of one part, and whether its samples are complex.
struct PartShape {
    bool complex_data;
    index_t planes;
};

/// Returns the shape of `part`. Throws InvalidArgument unless P = part.count is 1, 2, 4, 8 or 16
/// and divides the planes of the grid (2P for real data and P > 1).
PartShape part_shape(bool complex_data, const PartId& part);

/// Frequencies of the volume that a part carries: FFT(part)(ν) = X(spacing·ν + first).
struct PartFrequencies {
    index_t first;
    index_t spacing;
};
PartFrequencies part_frequencies(bool complex_data, int index, int count);

/// Returns e^{-2πi k/n} for 0 <= k, 0 < n, exact to the last bit of double.
std::complex<double> root_of_unity(index_t k, index_t n);

}  // namespace decompose
}  // namespace convolume
