// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector loops over samples of images, which use the best instruction set of the processor.

#include <complex>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Computes image[i] *= kernel[i].
void multiply(const std::complex<float>* kernel, std::complex<float>* image, index_t count);
void multiply(const std::complex<double>* kernel, std::complex<double>* image, index_t count);
/// Computes image[i] *= conj(kernel[i]).
void multiply_conjugate(const std::complex<float>* kernel, std::complex<float>* image,
                        index_t count);

/// Computes for i < count
///     out[i] = Σ_r Σ_j taps[r * taps_per_row + j] · rows[r][i + j],
/// or adds it to out[i] if `accumulate` is set. Reads up to row_padding samples beyond
/// rows[r][count + taps_per_row - 1], and writes up to row_padding samples beyond out[count].
void correlate_rows(const float* const* rows, index_t row_count, const float* taps,
                    index_t taps_per_row, bool accumulate, float* out, index_t count);
void correlate_rows(const double* const* rows, index_t row_count, const double* taps,
                    index_t taps_per_row, bool accumulate, double* out, index_t count);
void correlate_rows(const std::complex<float>* const* rows, index_t row_count,
                    const std::complex<float>* taps, index_t taps_per_row, bool accumulate,
                    std::complex<float>* out, index_t count);
void correlate_rows(const std::complex<double>* const* rows, index_t row_count,
                    const std::complex<double>* taps, index_t taps_per_row, bool accumulate,
                    std::complex<double>* out, index_t count);

/// Samples of the widest vector of any target.
inline constexpr index_t row_padding = 64;

}  // namespace convolume::cpu
