// SPDX-License-Identifier: Apache-2.0
#include "signals/rate_filter.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "core/threads.hpp"

namespace convolume {

namespace {

constexpr double least_ratio = 1e-4, most_ratio = 1e4;
// Added to the attenuation of the filter. The copies of a tone's frequency, or the ripple at the
// frequency itself and the copies, add up to at most twice the largest of them: 6 dB. Kaiser's
// formulas are exact to 2 dB.
constexpr double margin_db = 8;
constexpr index_t most_half = index_t{1} << 24;

void check_range(const char* what, double value, double least, double most, const char* unit) {
    if (!(value >= least && value <= most))
        throw InvalidArgument(message(what, " of a conversion of rates is from ", least, " to ",
                                      most, unit, ", and not ", value));
}

/// Returns the parameter of Kaiser's window by his formula, for at least 21 dB (J. F. Kaiser,
/// Nonrecursive digital filter design using the I0-sinh window function, ISCAS 1974).
double kaiser_parameter(double attenuation_db) {
    if (attenuation_db > 50) return 0.1102 * (attenuation_db - 8.7);
    const double excess = attenuation_db - 21;
    return 0.5842 * std::pow(excess, 0.4) + 0.07886 * excess;
}

/// A sinc in a Kaiser window that ends at ±half.
class WindowedSinc {
  public:
    WindowedSinc(double cutoff, double beta, double half)
        : cutoff_(cutoff), beta_(beta), half_(half), scale_(1 / std::cyl_bessel_i(0.0, beta)) {}

    double operator()(double time) const {
        const double place = time / half_;
        const double window =
            scale_ * std::cyl_bessel_i(0.0, beta_ * std::sqrt(std::max(0.0, 1 - place * place)));
        const double angle = 2 * std::numbers::pi * cutoff_ * time;
        const double sinc = std::abs(angle) < 1e-9 ? 1 : std::sin(angle) / angle;
        return 2 * cutoff_ * sinc * window;
    }

  private:
    double cutoff_;  // cycles per sample
    double beta_, half_, scale_;
};

/// Returns the coefficients of the cubic polynomial in u that has given values at the four
/// Chebyshev nodes of [-1, 1]: u_k = cos((2k + 1) π / 8).
std::array<double, 4> through_nodes(const std::array<double, 4>& values) {
    std::array<double, 4> chebyshev{};
    for (int m = 0; m < 4; ++m) {
        double sum = 0;
        for (int k = 0; k < 4; ++k)
            sum += values[static_cast<std::size_t>(k)] *
                   std::cos(m * (2 * k + 1) * std::numbers::pi / 8);
        chebyshev[static_cast<std::size_t>(m)] = sum / (m == 0 ? 4 : 2);
    }
    const auto [a, b, c, d] = chebyshev;
    return {a - c, b - 3 * d, 2 * c, 4 * d};
}

}  // namespace

RateOptions checked_rate_options(RateOptions options) {
    if (options.lowest_ratio == 0) options.lowest_ratio = options.ratio;
    check_range("the lowest ratio", options.lowest_ratio, least_ratio, most_ratio, "");
    check_ratio(options.ratio, options.lowest_ratio);
    check_range("the attenuation", options.attenuation_db, 20, 180, " dB");
    check_range("the pass band", options.pass_band, 0.01, 0.999, " of the Nyquist frequency");
    check_threads(options.threads);
    return options;
}

void check_ratio(double ratio, double lowest, index_t sample) {
    if (ratio >= std::max(lowest, least_ratio) && ratio <= most_ratio) return;
    const std::string what = sample < 0 ? message("the ratio is ", ratio)
                                        : message("the ratio of sample ", sample, " is ", ratio);
    if (!(ratio >= least_ratio && ratio <= most_ratio))
        throw InvalidArgument(
            message(what, ": ratios of sampling rates are from ", least_ratio, " to ", most_ratio));
    throw InvalidArgument(message(what, ", but the filter is for ratios from ", lowest,
                                  " on: make the converter with that lowest_ratio"));
}

RateFilter design_rate_filter(const RateOptions& options, bool complex_data) {
    const double attenuation = options.attenuation_db + margin_db;
    // Frequencies are in cycles per sample.
    const double stop = std::min(1.0, options.lowest_ratio) / 2;
    const double pass = options.pass_band * stop;
    const double order =  // by Kaiser's formula for the length
        (attenuation - 7.95) / (4.57 * std::numbers::pi * (stop - pass));
    const double half = std::ceil(order / 2) + 1;
    if (half > static_cast<double>(most_half))
        throw InvalidArgument(message("the filter would have ", 2 * half,
                                      " taps, and the most are ", 2 * most_half,
                                      ": choose a lower pass band or a larger ratio"));
    RateFilter filter;
    filter.half = static_cast<index_t>(half);
    filter.complex_data = complex_data;
    filter.precision = options.precision;
    // A cubic polynomial through Chebyshev nodes of an interval δ differs by at most
    // 2 (δ/4)^4 / 4! times the fourth derivative, which is below π^4 (2 stop)^4 times the tap's
    // envelope. Envelopes of all taps sum to less than 8: the error is below a tenth of the bound.
    const double pieces = std::ceil(2 * stop * std::pow(10, attenuation / 80));
    filter.pieces = static_cast<index_t>(pieces);
    const WindowedSinc sinc((pass + stop) / 2, kaiser_parameter(attenuation), half);
    filter.coefficients.reserve(static_cast<std::size_t>(
        checked_multiply(checked_multiply(filter.pieces, filter.taps()), RateFilter::powers)));
    for (index_t piece = 0; piece < filter.pieces; ++piece)
        for (index_t tap = 0; tap < filter.taps(); ++tap) {
            const auto oldest = static_cast<double>(filter.half - 1 - tap);
            std::array<double, 4> values{};
            for (int k = 0; k < 4; ++k) {
                const double u = std::cos((2 * k + 1) * std::numbers::pi / 8);
                values[static_cast<std::size_t>(k)] =
                    sinc(oldest + (static_cast<double>(piece) + (u + 1) / 2) / pieces);
            }
            for (const double coefficient : through_nodes(values))
                filter.coefficients.push_back(coefficient);
        }
    return filter;
}

}  // namespace convolume
