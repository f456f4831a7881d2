// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector loops of filters with bounded latency, dispatched at run time as those of
// vector_loops.hpp.

#include <complex>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Computes z[i] = (re[i] + i im[i]) · factors[i].
void rotate_in(const float* re, const float* im, const std::complex<float>* factors,
               std::complex<float>* z, index_t count);
void rotate_in(const double* re, const double* im, const std::complex<double>* factors,
               std::complex<double>* z, index_t count);

/// Computes y[i] = Im(z[i] · conj(factors[i])).
void rotate_out(const std::complex<float>* z, const std::complex<float>* factors, float* y,
                index_t count);
void rotate_out(const std::complex<double>* z, const std::complex<double>* factors, double* y,
                index_t count);

/// Some butterflies of a radix stage, in place: those of samples begin … end-1 of each quarter of
/// 4 · quarter samples. Factor r of sample n is factors[(r-1) · quarter + n] = e^{-2πi rn/(4
/// quarter)}, r = 1 … 3.
template <class Real>
struct RadixFour {
    std::complex<Real>* z;
    index_t quarter;
    index_t begin, end;
    const std::complex<Real>* factors;
};
/// Splits a forward transform: afterwards, the transform of quarter r has bins 4k + r.
void split_by_four(const RadixFour<float>& stage);
void split_by_four(const RadixFour<double>& stage);
/// Merges four inverse transforms of bins 4k + r to one of all bins.
void merge_by_four(const RadixFour<float>& stage);
void merge_by_four(const RadixFour<double>& stage);

}  // namespace convolume::cpu
