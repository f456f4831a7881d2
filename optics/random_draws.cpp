// SPDX-License-Identifier: Apache-2.0
#include "optics/random_draws.hpp"

#include <cmath>
#include <numbers>

namespace convolume::optics {

namespace {

/// Returns log(k!) − (k log k − k) for k >= 0, where 0 log 0 is 0. For large k this is Stirling's
/// series, whose next term is below the rounding.
double stirling_remainder(double k) {
    if (k < 16) {
        double factorial = 1;
        for (double i = 2; i <= k; ++i) factorial *= i;
        return std::log(factorial) - (k > 0 ? k * std::log(k) - k : 0);
    }
    const double r = 1 / (k * k);
    const double series = 1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680)));
    return 0.5 * std::log(2 * std::numbers::pi * k) + series / k;
}

/// Returns the logarithm of e^−mean mean^k / k!, computed so that large terms never cancel.
double log_probability(double mean, double k) {
    if (k == 0) return -mean;
    const double away = (k - mean) / mean;
    return (k - mean) - k * std::log1p(away) - stirling_remainder(k);
}

}  // namespace

double RandomDraws::normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

double RandomDraws::poisson(double mean) {
    if (!(mean > 0)) return 0;
    return mean < 10 ? small_poisson(mean) : large_poisson(mean);
}

double RandomDraws::small_poisson(double mean) {
    double left = uniform();
    double probability = std::exp(-mean);
    double k = 0;
    // Beyond 100 the probabilities are below the rounding of the sum.
    while (left > probability && k < 100) {
        left -= probability;
        ++k;
        probability *= mean / k;
    }
    return k;
}

double RandomDraws::large_poisson(double mean) {
    // The constants are those of Hörmann's paper (random_draws.hpp), for means of at least 10.
    const double b = 0.931 + 2.53 * std::sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double accepted = 0.9277 - 3.6224 / (b - 2);
    while (true) {
        const double u = uniform() - 0.5;
        const double v = uniform();
        const double edge = 0.5 - std::abs(u);
        const double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
        if (edge >= 0.07 && v <= accepted) return k;
        if (k < 0 || (edge < 0.013 && v > edge)) continue;
        const double hat = std::log(v * inverse_alpha / (a / (edge * edge) + b));
        if (hat <= log_probability(mean, k)) return k;
    }
}

}  // namespace convolume::optics
