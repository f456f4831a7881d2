// SPDX-License-Identifier: Apache-2.0
#pragma once
// Roots of unity as compile-time constants.

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::gpu {

namespace roots_detail {

/// Σ (-1)^j x^2j / (first … (first + 2j - 1)), j >= 1, for |x| <= π/4, small terms first: a Taylor
/// series, less its first term and divided by that.
CONVOLUME_CONSTEXPR double tail(double x, int first) {
    double sum = 0;
    for (int n = first + 18; n >= first; n -= 2) {
        sum = (1 + sum) * (-x * x / (static_cast<double>(n) * (n + 1)));
    }
    return sum;
}

/// cos and sin of π/4 · a/n, 0 <= a <= n < 2^26. The angle is x + rest, x exact.
CONVOLUME_CONSTEXPR Complex<double> octant_point(long a, long n) {
    constexpr double high = 52707178.0 / 67108864, low = 7.946627386764098e-09;  // of π/4
    const double step = static_cast<double>((a << 26) / n) / 67108864;
    const double step_rest = static_cast<double>((a << 26) % n) / static_cast<double>(n) / 67108864;
    const double x = high * step, rest = high * step_rest + low * (step + step_rest);
    // cos x = 1 - h (1 + t) = top + what top lost, sin x = x (1 + s), and the Taylor series of
    // rest.
    const double s = tail(x, 2), t = tail(x, 3), h = x * x / 2, top = 1 - h;
    const double cos_x = top - h * t, sin_x = x + x * s;
    return {top + (((1 - top) - h) - h * t - rest * (sin_x + rest / 2 * cos_x)),
            x + (x * s + rest * (cos_x - rest / 2 * sin_x))};
}

}  // namespace roots_detail

/// e^{-2πi k/n}: exact on the axes, within an ulp elsewhere, for n < 2^26.
CONVOLUME_CONSTEXPR Complex<double> root(long k, long n) {
    k = ((k % n) + n) % n;
    const long octant = (8 * k) / n;          // angle = (octant + rest) · π/4, 0 <= rest < 1
    const long rest_8n = 8 * k - octant * n;  // rest · n
    const bool from_next = octant % 2 == 1;   // measured back from the next axis
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

}  // namespace convolume::gpu
