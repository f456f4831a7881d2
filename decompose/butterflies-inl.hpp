// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a network on one vector of samples. Compiled once for every instruction set.

#if defined(CONVOLUME_BUTTERFLIES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_BUTTERFLIES_INL_HPP
#undef CONVOLUME_BUTTERFLIES_INL_HPP
#else
#define CONVOLUME_BUTTERFLIES_INL_HPP
#endif

#include <complex>

#include "decompose/lanes-inl.hpp"
#include "decompose/roots32.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::decompose::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE Complex<D> add(const Complex<D>& a, const Complex<D>& b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> subtract(const Complex<D>& a, const Complex<D>& b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> multiply(D d, const Complex<D>& a, std::complex<hn::TFromD<D>> factor) {
    const auto re = hn::Set(d, factor.real());
    const auto im = hn::Set(d, factor.imag());
    return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}

/// a · e^{∓2πi k/32}, minus for the forward direction; k is known once loops are unrolled.
template <bool Inverse, class D>
HWY_INLINE Complex<D> rotate(D d, const Complex<D>& a, std::size_t k) {
    using T = hn::TFromD<D>;
    k = (Inverse ? k : 32 - k) % 32;
    if (k == 0) return a;
    if (k == 8) return {hn::Neg(a.im), a.re};
    if (k == 16) return {hn::Neg(a.re), hn::Neg(a.im)};
    if (k == 24) return {a.im, hn::Neg(a.re)};
    return multiply(d, a, {static_cast<T>(cosine32(k)), static_cast<T>(sine32(k))});
}

/// DFT of Size values in natural order: radix 2 and 4, 8 = 4∘2, 16 = 4∘4.
template <std::size_t Size, bool Inverse, class D>
HWY_INLINE void dft(D d, Complex<D>* x) {
    if constexpr (Size == 2) {
        const auto sum = add<D>(x[0], x[1]);
        x[1] = subtract<D>(x[0], x[1]);
        x[0] = sum;
    } else if constexpr (Size == 4) {
        const auto even_sum = add<D>(x[0], x[2]);
        const auto even_difference = subtract<D>(x[0], x[2]);
        const auto odd_sum = add<D>(x[1], x[3]);
        const auto odd_difference = rotate<Inverse>(d, subtract<D>(x[1], x[3]), 8);
        x[0] = add<D>(even_sum, odd_sum);
        x[1] = add<D>(even_difference, odd_difference);
        x[2] = subtract<D>(even_sum, odd_sum);
        x[3] = subtract<D>(even_difference, odd_difference);
    } else if constexpr (Size > 4) {
        constexpr std::size_t Outer = Size / 4;
        Complex<D> column[Outer][4];
#pragma GCC unroll 4
        for (std::size_t b = 0; b < Outer; ++b) {
#pragma GCC unroll 4
            for (std::size_t a = 0; a < 4; ++a) column[b][a] = x[Outer * a + b];
            dft<4, Inverse>(d, column[b]);
        }
#pragma GCC unroll 4
        for (std::size_t a = 0; a < 4; ++a) {
            Complex<D> row[Outer];
#pragma GCC unroll 4
            for (std::size_t b = 0; b < Outer; ++b) {
                row[b] = rotate<Inverse>(d, column[b][a], a * b * (32 / Size));
            }
            dft<Outer, Inverse>(d, row);
#pragma GCC unroll 4
            for (std::size_t b = 0; b < Outer; ++b) x[a + 4 * b] = row[b];
        }
    }
}

/// 2P real rows to two rows of the real part and P - 1 complex ones, by the rule of split.hpp.
template <std::size_t P, class D>
HWY_INLINE void split_real(D d, const hn::Vec<D>* x, hn::Vec<D>* real, Complex<D>* parts) {
    if constexpr (P == 1) {
        real[0] = x[0];
        real[1] = x[1];
    } else {
        hn::Vec<D> sum[P];
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P; ++q) sum[q] = hn::Add(x[q], x[q + P]);
        Complex<D>* odd = parts + (P / 2 - 1);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const Complex<D> pair{hn::Sub(x[q], x[q + P]), hn::Sub(x[q + P + P / 2], x[q + P / 2])};
            odd[q] = rotate<false>(d, pair, q * (16 / P));
        }
        dft<P / 2, false>(d, odd);
        split_real<P / 2>(d, sum, real, parts);
    }
}

/// The inverse of split_real, times P.
template <std::size_t P, class D>
HWY_INLINE void merge_real(D d, const hn::Vec<D>* real, Complex<D>* parts, hn::Vec<D>* x) {
    if constexpr (P == 1) {
        x[0] = real[0];
        x[1] = real[1];
    } else {
        hn::Vec<D> sum[P];
        merge_real<P / 2>(d, real, parts, sum);
        Complex<D>* odd = parts + (P / 2 - 1);
        dft<P / 2, true>(d, odd);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const Complex<D> pair = rotate<true>(d, odd[q], q * (16 / P));
            const auto upper = sum[q + P / 2];
            x[q] = hn::Add(sum[q], pair.re);
            x[q + P] = hn::Sub(sum[q], pair.re);
            x[q + P / 2] = hn::Sub(upper, pair.im);
            x[q + P + P / 2] = hn::Add(upper, pair.im);
        }
    }
}

}  // namespace convolume::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
