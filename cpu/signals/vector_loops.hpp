// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector loops of the CPU filter engine, dispatched at run time to the processor's best
// instructions. They are overloads because GCC exports template specializations for types like
// float from a shared library in spite of -fvisibility=hidden.

#include <complex>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Computes out[i] = a[i] b[i].
void multiply(const std::complex<float>* a, const std::complex<float>* b, std::complex<float>* out,
              index_t count);
void multiply(const std::complex<double>* a, const std::complex<double>* b,
              std::complex<double>* out, index_t count);
/// Computes sum[i] = Σ_t a[t][i] b[t][i] over `terms` terms; adds to `sum` with `accumulate`.
void sum_products(const std::complex<float>* const* a, const std::complex<float>* const* b,
                  index_t terms, bool accumulate, std::complex<float>* sum, index_t count);
void sum_products(const std::complex<double>* const* a, const std::complex<double>* const* b,
                  index_t terms, bool accumulate, std::complex<double>* sum, index_t count);

/// Computes z[i] = re[i] + i im[i].
void interleave(const float* re, const float* im, std::complex<float>* z, index_t count);
void interleave(const double* re, const double* im, std::complex<double>* z, index_t count);
/// Splits z[i] = re[i] + i im[i] into real and imaginary parts.
void deinterleave(const std::complex<float>* z, float* re, float* im, index_t count);
void deinterleave(const std::complex<double>* z, double* re, double* im, index_t count);

/// Computes sum[i] += a[i].
void add(const float* a, float* sum, index_t count);
void add(const double* a, double* sum, index_t count);

/// Computes out[i] = |y[i]|².
void power(const float* y, float* out, index_t count);
void power(const double* y, double* out, index_t count);
void power(const std::complex<float>* y, float* out, index_t count);
void power(const std::complex<double>* y, double* out, index_t count);

/// Returns the largest value that is not NaN; -infinity if there is none.
float largest(const float* values, index_t count);
double largest(const double* values, index_t count);

}  // namespace convolume::cpu
