// SPDX-License-Identifier: Apache-2.0
// The low-pass filter of a resampler.

#include <cmath>
#include <numbers>

#include "signals/resample_checks.hpp"

namespace convolume {

namespace {

// The modified Bessel function I₀(x) by its power series, Σ ((x/2)^k / k!)².
double bessel_i0(double x) {
    double term = 1, sum = 1;
    for (int k = 1; term > sum * 1e-17; ++k) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

}  // namespace

std::vector<double> resample_taps(index_t up, index_t down, index_t zero_crossings, double kaiser) {
    check_factors(up, down);
    if (zero_crossings < 1)
        throw InvalidArgument(message("a filter of ", zero_crossings,
                                      " zero crossings has no taps: it needs one at least"));
    if (!(kaiser >= 0 && kaiser <= 700))
        throw InvalidArgument(
            message("a Kaiser window's parameter is from 0 to 700, and not ", kaiser));
    const index_t rate = std::max(up, down);
    const index_t half = checked_multiply(zero_crossings, rate);
    std::vector<double> taps(static_cast<std::size_t>(checked_add(2 * half, 1)));
    double sum = 0;
    for (index_t i = 0; i < static_cast<index_t>(taps.size()); ++i) {
        const double x = static_cast<double>(i - half) / static_cast<double>(rate);
        const double place = static_cast<double>(i - half) / static_cast<double>(half);
        const double angle = std::numbers::pi * x;
        const double sinc = i == half ? 1 : std::sin(angle) / angle;
        taps[static_cast<std::size_t>(i)] =
            sinc * bessel_i0(kaiser * std::sqrt(std::max(0.0, 1 - place * place)));
        sum += taps[static_cast<std::size_t>(i)];
    }
    for (double& tap : taps) tap *= static_cast<double>(up) / sum;
    return taps;
}

}  // namespace convolume
