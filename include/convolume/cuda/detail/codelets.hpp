// SPDX-License-Identifier: Apache-2.0
#pragma once
// Discrete Fourier transforms (DFTs) of a few samples in registers, composed at compile time, and
// the roots of unity that they multiply by.

#include <utility>

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::gpu {

namespace roots_detail {

/// Returns the Taylor series of sin x or 1 - cos x without its first term, divided by that term,
/// for |x| <= π/4. Small terms are added first.
///
///     Σ_{j >= 1} (-1)^j x^2j / (first · (first + 1) · … · (first + 2j - 1))
CONVOLUME_CONSTEXPR double tail(double x, int first) {
    double sum = 0;
    for (int n = first + 18; n >= first; n -= 2) {
        sum = (1 + sum) * (-x * x / (static_cast<double>(n) * (n + 1)));
    }
    return sum;
}

/// Returns cos and sin of the angle π/4 · a/n, 0 <= a <= n < 2^26. The angle is the sum of x, which
/// has no rounding error, and a small `rest`.
CONVOLUME_CONSTEXPR Complex<double> octant_point(long a, long n) {
    constexpr double high = 52707178.0 / 67108864, low = 7.946627386764098e-09;  // π/4 = high + low
    const double step = static_cast<double>((a << 26) / n) / 67108864;
    const double step_rest = static_cast<double>((a << 26) % n) / static_cast<double>(n) / 67108864;
    const double x = high * step, rest = high * step_rest + low * (step + step_rest);
    // cos x = 1 - h (1 + t) and sin x = x (1 + s). `top` is 1 - h, whose rounding error is added
    // back below. Terms with `rest` are its Taylor series.
    const double s = tail(x, 2), t = tail(x, 3), h = x * x / 2, top = 1 - h;
    const double cos_x = top - h * t, sin_x = x + x * s;
    return {top + (((1 - top) - h) - h * t - rest * (sin_x + rest / 2 * cos_x)),
            x + (x * s + rest * (cos_x - rest / 2 * sin_x))};
}

}  // namespace roots_detail

/// Returns e^{-2πi k/n} for n < 2^26: exact on the axes, within an ulp elsewhere.
CONVOLUME_CONSTEXPR Complex<double> root(long k, long n) {
    k = ((k % n) + n) % n;
    const long octant = (8 * k) / n;          // angle = (octant + rest) · π/4, 0 <= rest < 1
    const long rest_8n = 8 * k - octant * n;  // rest · n
    const bool from_next = octant % 2 == 1;   // whether rest counts back from the next axis
    const Complex<double> point = roots_detail::octant_point(from_next ? n - rest_8n : rest_8n, n);
    const double near = point.re, far = point.im;
    switch (octant) {
        case 0:
            return {near, -far};
        case 1:
            return {far, -near};
        case 2:
            return {-far, -near};
        case 3:
            return {-near, -far};
        case 4:
            return {-near, far};
        case 5:
            return {-far, near};
        case 6:
            return {far, near};
        default:
            return {near, far};
    }
}

/// A compile-time integer that device code may use as a value.
template <int Value>
struct Constant {
    static constexpr int value = Value;
    CONVOLUME_DEVICE constexpr operator int() const { return Value; }
};

/// Calls f(Constant<I>{}) for every I of a sequence.
template <class F, int... I>
CONVOLUME_DEVICE void unroll_over(const F& f, std::integer_sequence<int, I...>) {
    (f(Constant<I>{}), ...);
}
/// Calls f(Constant<0>{}), …, f(Constant<Count - 1>{}).
template <int Count, class F>
CONVOLUME_DEVICE void unroll(const F& f) {
    unroll_over(f, std::make_integer_sequence<int, Count>{});
}

/// Returns v · e^{-2πi K/N}.
template <int K, int N, class Real>
CONVOLUME_DEVICE Complex<Real> rotate(Complex<Real> v) {
    constexpr int eighths = (8 * K) % N == 0 ? (8 * K) / N % 8 : -1;
    if constexpr (eighths == 0) {
        return v;
    } else if constexpr (eighths == 2) {
        return {v.im, -v.re};
    } else if constexpr (eighths == 4) {
        return {-v.re, -v.im};
    } else if constexpr (eighths == 6) {
        return {-v.im, v.re};
    } else if constexpr (eighths > 0) {
        constexpr Real h = static_cast<Real>(0.70710678118654752440);
        constexpr Real re = eighths == 1 || eighths == 7 ? h : -h;
        constexpr Real im = eighths == 1 || eighths == 3 ? -h : h;
        // (re, im) is (±h, ±h), so that two additions and two products are enough.
        constexpr bool same = (re > 0) == (im > 0);
        if constexpr (same) return {re * (v.re - v.im), re * (v.re + v.im)};
        return {re * (v.re + v.im), re * (v.im - v.re)};
    } else {
        constexpr Complex<double> w = root(K, N);
        constexpr Real re = static_cast<Real>(w.re), im = static_cast<Real>(w.im);
        return {v.re * re - v.im * im, v.re * im + v.im * re};
    }
}

namespace codelet_detail {

CONVOLUME_CONSTEXPR int gcd(int a, int b) {
    return b == 0 ? a : gcd(b, a % b);
}
/// Returns the least prime factor of n.
CONVOLUME_CONSTEXPR int least_factor(int n) {
    for (int p = 2; p * p <= n; ++p)
        if (n % p == 0) return p;
    return n;
}
/// Returns the factor A by which a DFT of n = A·B samples is split. A is coprime to B unless n is a
/// power of a prime.
CONVOLUME_CONSTEXPR int split_factor(int n) {
    const int p = least_factor(n);
    int power = p;
    while (n % (power * p) == 0) power *= p;
    if (power < n) return power;
    if (n == 16 || n == 32) return 4;
    return p;
}
/// Returns a^{-1} mod m.
CONVOLUME_CONSTEXPR int inverse_mod(int a, int m) {
    for (int x = 1; x < m; ++x)
        if (a * x % m == 1) return x;
    return 0;
}

/// Transforms P samples in place, for an odd prime P, by sums and differences of v[j] and v[P - j].
template <int P, class Real>
CONVOLUME_DEVICE void prime_dft(Complex<Real>* v) {
    constexpr int half = (P - 1) / 2;
    Samples<Real, half> sum, difference;
    const Complex<Real> first = v[0];
    unroll<half>([&](auto j) {
        sum[j] = v[j + 1] + v[P - 1 - j];
        difference[j] = v[j + 1] - v[P - 1 - j];
        v[0] = v[0] + sum[j];
    });
    unroll<half>([&](auto k) {
        Complex<Real> even = first, odd{0, 0};
        unroll<half>([&](auto j) {
            constexpr Complex<double> w =
                root((decltype(j)::value + 1) * (decltype(k)::value + 1), P);
            constexpr Real c = static_cast<Real>(w.re), s = static_cast<Real>(-w.im);
            even = {even.re + c * sum[j].re, even.im + c * sum[j].im};
            odd = {odd.re + s * difference[j].re, odd.im + s * difference[j].im};
        });
        v[k + 1] = {even.re + odd.im, even.im - odd.re};
        v[P - 1 - k] = {even.re - odd.im, even.im + odd.re};
    });
}

}  // namespace codelet_detail

/// Transforms N samples in place: v[k] becomes Σ_n v[n] e^{-2πi nk/N}.
template <int N, class Real>
CONVOLUME_DEVICE void dft(Complex<Real>* v) {
    using namespace codelet_detail;
    if constexpr (N == 1) {
        return;
    } else if constexpr (N == 2) {
        const Complex<Real> a = v[0];
        v[0] = a + v[1];
        v[1] = a - v[1];
    } else if constexpr (N == 4) {
        const Complex<Real> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        v[0] = a + c;
        v[2] = a - c;
        v[1] = {b.re + d.im, b.im - d.re};
        v[3] = {b.re - d.im, b.im + d.re};
    } else if constexpr (least_factor(N) == N) {
        prime_dft<N>(v);
    } else {
        // B transforms of A samples, then A of B, with twiddle factors only if A and B share a
        // factor.
        constexpr int A = split_factor(N), B = N / A;
        constexpr bool coprime = gcd(A, B) == 1;
        Samples<Real, A> columns[static_cast<unsigned>(B)];
        unroll<B>([&](auto b) {
            unroll<A>([&](auto a) {
                constexpr int i = decltype(a)::value, j = decltype(b)::value;
                columns[j][i] = v[coprime ? (B * i + A * j) % N : j + B * i];
            });
            dft<A>(&columns[b][0]);
        });
        unroll<A>([&](auto a) {
            Samples<Real, B> row;
            unroll<B>([&](auto b) {
                constexpr int i = decltype(a)::value, j = decltype(b)::value;
                row[j] = rotate < coprime ? 0 : i * j, N > (columns[j][i]);
            });
            dft<B>(&row[0]);
            unroll<B>([&](auto b) {
                constexpr int i = decltype(a)::value, j = decltype(b)::value;
                constexpr int k =
                    coprime ? (i * B * inverse_mod(B % A, A) + j * A * inverse_mod(A % B, B)) % N
                            : i + A * j;
                v[k] = row[j];
            });
        });
    }
}

}  // namespace convolume::gpu
