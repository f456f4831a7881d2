// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector loops of the CPU filter engine, dispatched at run time to the processor's best
// instructions. Real is float or double.

#include <complex>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// out[i] = a[i] b[i]
template <class Real>
void multiply(const std::complex<Real>* a, const std::complex<Real>* b, std::complex<Real>* out,
              index_t count);
/// sum[i] (+)= Σ_t a[t][i] b[t][i] over `terms`; adds to `sum` when `accumulate`.
template <class Real>
void sum_products(const std::complex<Real>* const* a, const std::complex<Real>* const* b,
                  index_t terms, bool accumulate, std::complex<Real>* sum, index_t count);

/// z[i] = re[i] + i im[i]
template <class Real>
void interleave(const Real* re, const Real* im, std::complex<Real>* z, index_t count);
/// re[i] + i im[i] = z[i]
template <class Real>
void deinterleave(const std::complex<Real>* z, Real* re, Real* im, index_t count);

/// sum[i] += a[i]
template <class Real>
void add(const Real* a, Real* sum, index_t count);

/// out[i] = |y[i]|²
template <class Real>
void power(const Real* y, Real* out, index_t count);
template <class Real>
void power(const std::complex<Real>* y, Real* out, index_t count);

/// The largest of the values that are no NaN; -infinity where there are none.
template <class Real>
Real largest(const Real* values, index_t count);

}  // namespace convolume::cpu
