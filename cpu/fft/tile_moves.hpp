// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops around transforms of columns (column_fft.hpp): copies between rows and tiles, and the steps
// that make transforms of real samples of complex ones. A tile of complex samples has two rows of
// `width` real numbers for each sample: the real parts of all columns, then the imaginary parts.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Rows of a tile: real number j of every row of a matrix is at
/// data + j / 2 · pair_stride + j % 2 · part_stride.
template <class Real>
struct TileRows {
    Real* data;
    index_t pair_stride, part_stride;
};

/// Copies the first `count` real numbers of `width` rows to a tile, one row in each column.
void gather_rows(const float* const* rows, index_t count, const TileRows<float>& tile,
                 index_t width);
void gather_rows(const double* const* rows, index_t count, const TileRows<double>& tile,
                 index_t width);
/// Copies a tile to rows.
void scatter_rows(const TileRows<float>& tile, index_t count, float* const* rows, index_t width);
void scatter_rows(const TileRows<double>& tile, index_t count, double* const* rows, index_t width);

/// The step between a real transform of 2 · half samples and a complex one of `half` samples, whose
/// real and imaginary parts are neighboring samples (W. H. Press et al., Numerical Recipes, 3rd
/// ed., section 12.3.2). A forward step makes bins 0 … half of the complex transform; an inverse
/// step makes the input of a complex inverse transform, which gives 2 · half times the samples.
template <class Real>
struct RealStep {
    index_t half;
    const Real* twiddles;  ///< i e^{πi k/half} for k = 0 … half / 2 + 8
    bool inverse;
};

/// Applies a real step to a tile of half + 1 samples. Inverse steps exchange real and imaginary
/// parts of their results.
void apply_real_step(const RealStep<float>& step, float* tile, index_t width);
void apply_real_step(const RealStep<double>& step, double* tile, index_t width);
/// Applies a real step to one row. Source and target may be equal.
void apply_real_step_to_row(const RealStep<float>& step, const float* source, float* target);
void apply_real_step_to_row(const RealStep<double>& step, const double* source, double* target);

/// Splits transforms of complex samples whose real and imaginary parts are different real rows. The
/// tile has `length` samples, an odd number, and one more. Afterwards sample k holds bin k of the
/// first row, and sample length - k that of the second, k ≤ length / 2.
void split_pairs(float* tile, index_t length, index_t width);
void split_pairs(double* tile, index_t length, index_t width);
/// Joins two spectra again, and exchanges real and imaginary parts of the result.
void join_pairs(float* tile, index_t length, index_t width);
void join_pairs(double* tile, index_t length, index_t width);

}  // namespace convolume::cpu
