// SPDX-License-Identifier: Apache-2.0
#include "signals/rate_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/threads.hpp"

namespace convolume {

namespace {

constexpr double least_ratio = 1e-4, most_ratio = 1e4;
// Added to the attenuation of the filter. The copies of a tone's frequency, or the ripple at the
// frequency itself and the copies, add up to at most twice the largest of them: 6 dB. So do the
// ripples of both edges of a short filter, between them: 6 dB. Kaiser's formulas are exact to 2 dB.
constexpr double margin_db = 14;
// Operations for a tap that is interpolated, relative to those for a fixed one.
constexpr double interpolated_tap = 4;

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

/// A filter's bands, in cycles per sample, and its attenuation.
struct LowPassSpec {
    double pass, stop, attenuation_db;

    /// Returns half of the filter's length, by Kaiser's formula for the length.
    double half() const {
        return std::ceil((attenuation_db - 7.95) / (4.57 * std::numbers::pi * (stop - pass)) / 2);
    }
    WindowedSinc sinc(double half) const {
        return {(pass + stop) / 2, kaiser_parameter(attenuation_db), half};
    }
};

/// A number of stages: `halvings` of the rate, a sharp filter that multiplies it by `up`, and the
/// interpolation. Frequencies are in cycles per sample of the signal.
class StageCandidate {
  public:
    StageCandidate(const RateOptions& options, int halvings, index_t up)
        : halvings_(halvings), up_(up), ratio_(options.lowest_ratio) {
        stop_ = std::min(1.0, options.lowest_ratio) / 2;
        pass_ = options.pass_band * stop_;
        // Errors of all stages add up.
        attenuation_ = options.attenuation_db + margin_db + 20 * std::log10(halvings + 2);
    }

    int halvings() const { return halvings_; }
    index_t up() const { return up_; }
    int doublings() const { return (up_ == 2 ? 1 : 0) - halvings_; }
    double rate() const { return std::ldexp(1, doublings()); }
    double rate_after(int halvings) const { return std::ldexp(1, -halvings); }
    /// Returns whether what halvings and the interpolation fold back stays out of the pass band.
    bool is_possible() const {
        return rate() > 2 * stop_ && (halvings_ == 0 || rate_after(halvings_) > 2 * stop_);
    }

    /// Returns the filter before halving number `n`. It removes frequencies that halving would fold
    /// to below the begin of the stop band.
    LowPassSpec of_halving(int n) const {
        const double rate = rate_after(n), next = rate_after(n + 1);
        return {pass_ / rate, (next - stop_) / rate, attenuation_};
    }
    LowPassSpec of_sharp() const {
        const double rate = rate_after(halvings_) * static_cast<double>(up_);
        return {pass_ / rate, stop_ / rate, attenuation_};
    }
    LowPassSpec of_interpolation() const {
        return {pass_ / rate(), 1 - stop_ / rate(), attenuation_};
    }

    /// Returns the products for each sample of the signal. They are those of the lowest ratio, so
    /// that results do not depend on the first one.
    double cost() const {
        double products = 2 * rate_after(halvings_) * of_sharp().half() +
                          2 * ratio_ * interpolated_tap * of_interpolation().half();
        for (int n = 0; n < halvings_; ++n)
            products += 2 * rate_after(n + 1) * of_halving(n).half();
        return products;
    }

  private:
    int halvings_;
    index_t up_;
    double ratio_, stop_ = 0, pass_ = 0, attenuation_ = 0;
};

StageCandidate cheapest(const RateOptions& options) {
    StageCandidate best(options, 0, 2);
    for (int halvings = 0; StageCandidate(options, halvings, 2).is_possible(); ++halvings)
        for (const index_t up : {1, 2}) {
            const StageCandidate next(options, halvings, up);
            if (next.is_possible() && next.cost() < best.cost()) best = next;
        }
    return best;
}

/// Makes the stage of a filter, whose bands are in cycles per sample of `up` times the rate.
RateStage make_stage(const LowPassSpec& spec, index_t up, index_t down) {
    const double half = spec.half();
    const WindowedSinc sinc = spec.sinc(half + 1);  // the taps at its ends would be almost 0
    RateStage stage{up, down, {}};
    for (double place = -half; place <= half; ++place)
        stage.taps.push_back(static_cast<double>(up) * sinc(place));
    return stage;
}

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

/// Tabulates the filter between the samples of the last stage.
RateFilter interpolation_filter(const LowPassSpec& spec) {
    RateFilter filter;
    const double half = spec.half() + 1;
    filter.half = static_cast<index_t>(half);
    // A cubic polynomial through Chebyshev nodes of an interval δ differs by at most
    // 2 (δ/4)^4 / 4! times the fourth derivative, which is below π^4 (2 stop)^4 times the tap's
    // envelope. Envelopes of all taps sum to less than 8: the error is below a tenth of the bound.
    const double pieces = std::ceil(2 * spec.stop * std::pow(10, spec.attenuation_db / 80));
    filter.pieces = static_cast<index_t>(pieces);
    const WindowedSinc sinc = spec.sinc(half);
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

RatePlan plan_rates(const RateOptions& options, bool complex_data) {
    const StageCandidate chosen = cheapest(options);
    RatePlan plan;
    plan.doublings = chosen.doublings();
    double half = 0;
    const auto add = [&](RateStage&& stage, double rate) {
        half += std::floor(static_cast<double>(stage.taps.size()) / 2) / rate;
        plan.stages.push_back(std::move(stage));
    };
    for (int n = 0; n < chosen.halvings(); ++n)
        add(make_stage(chosen.of_halving(n), 1, 2), chosen.rate_after(n));
    add(make_stage(chosen.of_sharp(), chosen.up(), 1),
        chosen.rate_after(chosen.halvings()) * static_cast<double>(chosen.up()));
    plan.filter = interpolation_filter(chosen.of_interpolation());
    plan.filter.complex_data = complex_data;
    plan.filter.precision = options.precision;
    half += static_cast<double>(plan.filter.half) / chosen.rate();
    plan.half = static_cast<index_t>(std::ceil(half));
    const index_t whole = index_t{1} << chosen.halvings();
    plan.silence = round_up(plan.half + 2 * whole, whole);
    return plan;
}

}  // namespace convolume
