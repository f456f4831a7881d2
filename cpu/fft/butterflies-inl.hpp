// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of a few complex numbers, one in each lane of the vectors. Compiled
// once for each instruction set that includes it.

#if defined(CONVOLUME_CPU_FFT_BUTTERFLIES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_CPU_FFT_BUTTERFLIES_INL_HPP
#undef CONVOLUME_CPU_FFT_BUTTERFLIES_INL_HPP
#else
#define CONVOLUME_CPU_FFT_BUTTERFLIES_INL_HPP
#endif

#include <hwy/highway.h>

#include "convolume/shape.hpp"
#include "cpu/fft/unroll.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct ComplexVector {
    hn::Vec<D> re, im;
};

template <class D>
HWY_INLINE ComplexVector<D> add(const ComplexVector<D>& a, const ComplexVector<D>& b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE ComplexVector<D> subtract(const ComplexVector<D>& a, const ComplexVector<D>& b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// Returns -i · a.
template <class D>
HWY_INLINE ComplexVector<D> times_minus_i(const ComplexVector<D>& a) {
    return {a.im, hn::Neg(a.re)};
}
template <class D>
HWY_INLINE ComplexVector<D> multiply(D d, const ComplexVector<D>& a, hn::TFromD<D> cosine,
                                     hn::TFromD<D> sine) {
    const auto re = hn::Set(d, cosine);
    const auto im = hn::Set(d, sine);
    return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}
/// Returns a · b.
template <class D>
HWY_INLINE ComplexVector<D> multiply(const ComplexVector<D>& a, const ComplexVector<D>& b) {
    return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
            hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}

/// Stores re[0], im[0], re[1], … as one sequence.
template <class D>
HWY_INLINE void store_interleaved(const ComplexVector<D>& value, D d, hn::TFromD<D>* to) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    // Highway takes three times as many shuffles.
    constexpr auto lanes = static_cast<index_t>(hn::MaxLanes(D()));
    if constexpr (sizeof(value.re.raw) == 64 && sizeof(hn::TFromD<D>) == 4) {
        const __m512i low =
            _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
        _mm512_storeu_ps(to, _mm512_permutex2var_ps(value.re.raw, low, value.im.raw));
        _mm512_storeu_ps(to + lanes, _mm512_permutex2var_ps(value.re.raw, high, value.im.raw));
        return;
    } else if constexpr (sizeof(value.re.raw) == 64) {
        const __m512i low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        const __m512i high = _mm512_add_epi64(low, _mm512_set1_epi64(4));
        _mm512_storeu_pd(to, _mm512_permutex2var_pd(value.re.raw, low, value.im.raw));
        _mm512_storeu_pd(to + lanes, _mm512_permutex2var_pd(value.re.raw, high, value.im.raw));
        return;
    }
#endif
    hn::StoreInterleaved2(value.re, value.im, d, to);
}

// The cosine and sine of 2πk/P for the odd radices.
template <int P, class Real>
constexpr Real cosine_of(int k) {
    constexpr double of3[] = {1, -0.5};
    constexpr double of5[] = {1, 0.30901699437494742410, -0.80901699437494742410};
    constexpr double of7[] = {1, 0.62348980185873353053, -0.22252093395631440429,
                              -0.90096886790241912624};
    constexpr double of11[] = {1,
                               0.84125353283118116886,
                               0.41541501300188642553,
                               -0.14231483827328514044,
                               -0.65486073394528506406,
                               -0.95949297361449738989};
    constexpr double of13[] = {1,
                               0.88545602565320989590,
                               0.56806474673115580251,
                               0.12053668025532305335,
                               -0.35460488704253562597,
                               -0.74851074817110109863,
                               -0.97094181742605202716};
    const int i = k % P > P / 2 ? P - k % P : k % P;
    return static_cast<Real>(P == 3    ? of3[i % 2]
                             : P == 5  ? of5[i % 3]
                             : P == 7  ? of7[i % 4]
                             : P == 11 ? of11[i % 6]
                                       : of13[i % 7]);
}
template <int P, class Real>
constexpr Real sine_of(int k) {
    constexpr double of3[] = {0, 0.86602540378443864676};
    constexpr double of5[] = {0, 0.95105651629515357212, 0.58778525229247312917};
    constexpr double of7[] = {0, 0.78183148246802980871, 0.97492791218182360702,
                              0.43388373911755812048};
    constexpr double of11[] = {0,
                               0.54064081745559758211,
                               0.90963199535451837141,
                               0.98982144188093273238,
                               0.75574957435425828377,
                               0.28173255684142969771};
    constexpr double of13[] = {0,
                               0.46472317204376854566,
                               0.82298386589365639458,
                               0.99270887409805399280,
                               0.93501624268541482344,
                               0.66312265824079520238,
                               0.23931566428755776715};
    const bool above = k % P > P / 2;
    const int i = above ? P - k % P : k % P;
    const double sine = P == 3    ? of3[i % 2]
                        : P == 5  ? of5[i % 3]
                        : P == 7  ? of7[i % 4]
                        : P == 11 ? of11[i % 6]
                                  : of13[i % 7];
    return static_cast<Real>(above ? -sine : sine);
}

template <int Radix, class D>
HWY_INLINE void dft(D d, ComplexVector<D>* x);

// Returns the multiple of `factor` that is 1 modulo `modulus`.
constexpr int unit_multiple(int factor, int modulus) {
    int multiple = factor;
    while (multiple % modulus != 1) multiple += factor;
    return multiple;
}

// Computes a transform of A · B numbers, which have no common divisor, without twiddle factors (I.
// J. Good, J. R. Statist. Soc. B 20:361, 1958).
template <int A, int B, class D>
HWY_INLINE void coprime_dft(D d, ComplexVector<D>* x) {
    constexpr int of_a = unit_multiple(B, A), of_b = unit_multiple(A, B);
    ComplexVector<D> y[static_cast<unsigned>(B)][static_cast<unsigned>(A)];
    CONVOLUME_UNROLL
    for (int b = 0; b < B; ++b) {
        CONVOLUME_UNROLL
        for (int a = 0; a < A; ++a) y[b][a] = x[(B * a + A * b) % (A * B)];
        dft<A>(d, y[b]);
    }
    CONVOLUME_UNROLL
    for (int a = 0; a < A; ++a) {
        ComplexVector<D> z[static_cast<unsigned>(B)];
        CONVOLUME_UNROLL
        for (int b = 0; b < B; ++b) z[b] = y[b][a];
        dft<B>(d, z);
        CONVOLUME_UNROLL
        for (int b = 0; b < B; ++b) x[(of_a * a + of_b * b) % (A * B)] = z[b];
    }
}

/// Replaces x[k] by Σ_n x[n] e^{-2πi nk/Radix}.
template <int Radix, class D>
HWY_INLINE void dft(D d, ComplexVector<D>* x) {
    using Real = hn::TFromD<D>;
    if constexpr (Radix == 1) {
        return;
    } else if constexpr (Radix == 2) {
        const auto sum = add<D>(x[0], x[1]);
        x[1] = subtract<D>(x[0], x[1]);
        x[0] = sum;
    } else if constexpr (Radix == 4) {
        const auto a = add<D>(x[0], x[2]), b = subtract<D>(x[0], x[2]);
        const auto c = add<D>(x[1], x[3]);
        const auto e = subtract<D>(x[1], x[3]);
        x[0] = add<D>(a, c);
        x[1] = {hn::Add(b.re, e.im), hn::Sub(b.im, e.re)};  // b - ie
        x[2] = subtract<D>(a, c);
        x[3] = {hn::Sub(b.re, e.im), hn::Add(b.im, e.re)};
    } else if constexpr (Radix == 8) {
        ComplexVector<D> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
        dft<4>(d, even);
        dft<4>(d, odd);
        constexpr Real half_root = static_cast<Real>(0.70710678118654752440);
        const auto half = hn::Set(d, half_root);
        const auto sum = hn::Mul(half, hn::Add(odd[1].re, odd[1].im));
        const auto difference = hn::Mul(half, hn::Sub(odd[1].im, odd[1].re));
        const auto other_sum = hn::Mul(half, hn::Add(odd[3].re, odd[3].im));
        const auto other_difference = hn::Mul(half, hn::Sub(odd[3].im, odd[3].re));
        x[0] = add<D>(even[0], odd[0]);
        x[4] = subtract<D>(even[0], odd[0]);
        x[1] = {hn::Add(even[1].re, sum), hn::Add(even[1].im, difference)};
        x[5] = {hn::Sub(even[1].re, sum), hn::Sub(even[1].im, difference)};
        x[2] = {hn::Add(even[2].re, odd[2].im), hn::Sub(even[2].im, odd[2].re)};
        x[6] = {hn::Sub(even[2].re, odd[2].im), hn::Add(even[2].im, odd[2].re)};
        x[3] = {hn::Add(even[3].re, other_difference), hn::Sub(even[3].im, other_sum)};
        x[7] = {hn::Sub(even[3].re, other_difference), hn::Add(even[3].im, other_sum)};
    } else if constexpr (Radix == 6) {
        coprime_dft<2, 3>(d, x);
    } else if constexpr (Radix == 10) {
        coprime_dft<2, 5>(d, x);
    } else if constexpr (Radix == 12) {
        coprime_dft<4, 3>(d, x);
    } else if constexpr (Radix == 9) {
        // Three transforms of every third number, then three of their results.
        constexpr Real c1 = static_cast<Real>(0.76604444311897803520);
        constexpr Real s1 = static_cast<Real>(0.64278760968653932632);
        constexpr Real c2 = static_cast<Real>(0.17364817766693034885);
        constexpr Real s2 = static_cast<Real>(0.98480775301220805937);
        constexpr Real c4 = static_cast<Real>(-0.93969262078590838405);
        constexpr Real s4 = static_cast<Real>(0.34202014332566873304);
        ComplexVector<D> y[3][3];
        CONVOLUME_UNROLL
        for (int b = 0; b < 3; ++b) {
            CONVOLUME_UNROLL
            for (int a = 0; a < 3; ++a) y[b][a] = x[3 * a + b];
            dft<3>(d, y[b]);
        }
        y[1][1] = multiply(d, y[1][1], c1, -s1);
        y[1][2] = multiply(d, y[1][2], c2, -s2);
        y[2][1] = multiply(d, y[2][1], c2, -s2);
        y[2][2] = multiply(d, y[2][2], c4, -s4);
        CONVOLUME_UNROLL
        for (int k = 0; k < 3; ++k) {
            ComplexVector<D> z[3] = {y[0][k], y[1][k], y[2][k]};
            dft<3>(d, z);
            CONVOLUME_UNROLL
            for (int e = 0; e < 3; ++e) x[k + 3 * e] = z[e];
        }
    } else if constexpr (Radix == 16) {
        // Four transforms of every fourth number, then four of their results.
        constexpr Real c = static_cast<Real>(0.92387953251128675613);
        constexpr Real s = static_cast<Real>(0.38268343236508977173);
        constexpr Real h = static_cast<Real>(0.70710678118654752440);
        ComplexVector<D> y[4][4];
        CONVOLUME_UNROLL
        for (int b = 0; b < 4; ++b) {
            CONVOLUME_UNROLL
            for (int a = 0; a < 4; ++a) y[b][a] = x[4 * a + b];
            dft<4>(d, y[b]);
        }
        y[1][1] = multiply(d, y[1][1], c, -s);
        y[1][2] = multiply(d, y[1][2], h, -h);
        y[1][3] = multiply(d, y[1][3], s, -c);
        y[2][1] = multiply(d, y[2][1], h, -h);
        y[2][2] = times_minus_i<D>(y[2][2]);
        y[2][3] = multiply(d, y[2][3], -h, -h);
        y[3][1] = multiply(d, y[3][1], s, -c);
        y[3][2] = multiply(d, y[3][2], -h, -h);
        y[3][3] = multiply(d, y[3][3], -c, s);
        CONVOLUME_UNROLL
        for (int k = 0; k < 4; ++k) {
            ComplexVector<D> z[4] = {y[0][k], y[1][k], y[2][k], y[3][k]};
            dft<4>(d, z);
            CONVOLUME_UNROLL
            for (int e = 0; e < 4; ++e) x[k + 4 * e] = z[e];
        }
    } else {
        constexpr int half = (Radix - 1) / 2;
        ComplexVector<D> sum[static_cast<unsigned>(half)], difference[static_cast<unsigned>(half)];
        const ComplexVector<D> first = x[0];
        CONVOLUME_UNROLL
        for (int j = 0; j < half; ++j) {
            sum[j] = add<D>(x[j + 1], x[Radix - 1 - j]);
            difference[j] = subtract<D>(x[j + 1], x[Radix - 1 - j]);
            x[0] = add<D>(x[0], sum[j]);
        }
        CONVOLUME_UNROLL
        for (int k = 0; k < half; ++k) {
            ComplexVector<D> even = first;
            ComplexVector<D> odd{hn::Zero(d), hn::Zero(d)};
            CONVOLUME_UNROLL
            for (int j = 0; j < half; ++j) {
                const auto c = hn::Set(d, cosine_of<Radix, Real>((j + 1) * (k + 1)));
                const auto s = hn::Set(d, sine_of<Radix, Real>((j + 1) * (k + 1)));
                even = {hn::MulAdd(c, sum[j].re, even.re), hn::MulAdd(c, sum[j].im, even.im)};
                odd = {hn::MulAdd(s, difference[j].re, odd.re),
                       hn::MulAdd(s, difference[j].im, odd.im)};
            }
            x[k + 1] = {hn::Add(even.re, odd.im), hn::Sub(even.im, odd.re)};
            x[Radix - 1 - k] = {hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)};
        }
    }
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
