// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a split: their shapes, the frequencies that they carry, and their kernels.
//
// Let x have K = M·spacing planes. Keeping only its frequencies spacing·ν + first gives
//   part(n) = Σ_q x(n + qM) e^{-2πi first (n + qM)/K},  n < M,
// so a part is the volume, modulated by one frequency and folded to the part's length.

#include <complex>

#include "core/engine.hpp"

namespace convolume::decompose {

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

/// Returns the kernel that `part` of an image is convolved with. `taps`, of any type and strides,
/// are planes 0 … taps.z-1 of a grid of part.z_grid planes. Planes beyond the part's extent are
/// folded onto it, in double precision. The result has the min(taps.z, extent) planes that can be
/// non-zero, real or complex as the part is. Throws InvalidArgument for taps that are empty, taller
/// than the grid, or complex when the data are real.
Volume split_kernel(const ConstImageView& taps, bool complex_data, const PartId& part,
                    Precision precision);

}  // namespace convolume::decompose
