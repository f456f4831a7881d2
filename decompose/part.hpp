// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a split: their shapes, the frequencies that they carry, and their kernels.
//
// With K = M·step, keeping only the frequencies step·ν + first of x gives
//   part(n) = Σ_q x(n + qM) e^{-2πi first (n + qM)/K},  n < M,
// so a part is the volume modulated by one frequency and folded to its own length.

#include <complex>

#include "core/engine.hpp"

namespace convolume::decompose {

/// Sizes and kind of one part.
struct PartShape {
    bool complex_data;
    index_t planes;
};

/// Shape of part `index`; throws InvalidArgument unless P is 1, 2, 4, 8 or 16 and divides K (2P for
/// real data and P > 1).
PartShape part_shape(bool complex_data, const PartId& part);

/// FFT(part)(ν) = X(step·ν + first).
struct PartFrequencies {
    index_t first;
    index_t step;
};
PartFrequencies part_frequencies(bool complex_data, int index, int count);

/// e^{-2πi k/n} for 0 <= k, 0 < n, to the last bit of double.
std::complex<double> root_of_unity(index_t k, index_t n);

/// The part of a compact kernel that belongs to `part`: `taps`, of any type and strides, are planes
/// 0 … taps.z-1 of a grid of part.z_grid planes, and those beyond the part's extent are folded onto
/// it. Returns the min(taps.z, extent) planes that can be non-zero, in the part's kind. Computed in
/// double. Throws InvalidArgument for taps that are empty, taller than the grid, or complex where
/// the data are real.
Volume split_kernel(const ConstImageView& taps, bool complex_data, const PartId& part,
                    Precision precision);

}  // namespace convolume::decompose
