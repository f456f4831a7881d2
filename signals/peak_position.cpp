// SPDX-License-Identifier: Apache-2.0
#include "signals/peak_position.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "signals/option_names.hpp"

namespace convolume {

namespace {

using Values = std::vector<std::complex<double>>;

// Half the samples of the windowed sinc. A Kaiser window of 10 damps copies of frequencies above
// 0.6 of the sampling rate by 100 dB.
constexpr index_t sinc_reach = 16;
constexpr double kaiser = 10;
// Samples on each side of the largest one among which the interpolation looks for a larger value.
constexpr index_t search_reach = 4;

// Returns the windowed sinc at a distance of `x` samples.
double windowed_sinc(double x) {
    static const double middle = std::cyl_bessel_i(0.0, kaiser);
    const double place = x / static_cast<double>(sinc_reach);
    if (std::abs(place) >= 1) return 0;
    const double angle = std::numbers::pi * x;
    const double sinc = std::abs(angle) < 1e-12 ? 1 : std::sin(angle) / angle;
    return sinc * std::cyl_bessel_i(0.0, kaiser * std::sqrt(1 - place * place)) / middle;
}

// Returns the value of a series between its samples.
std::complex<double> interpolated(const Values& rho, double at) {
    const auto nearest = static_cast<index_t>(std::round(at));
    std::complex<double> sum = 0;
    for (index_t i = nearest - sinc_reach; i <= nearest + sinc_reach; ++i)
        sum += rho[static_cast<std::size_t>(i)] * windowed_sinc(at - static_cast<double>(i));
    return sum;
}

struct Vertex {
    double place, height;
};

// Returns the vertex of the parabola through three heights at -1, 0 and 1. Returns the middle if
// that is no maximum, as at the ends of a series, but for rounding.
Vertex vertex_of(double before, double middle, double after) {
    constexpr double rounding = 1 + 1e-4;
    const double curvature = before - 2 * middle + after;
    if (!(curvature < 0) || std::max(before, after) > rounding * middle) return {0, middle};
    const double place = std::clamp((before - after) / (2 * curvature), -0.5, 0.5);
    return {place, middle - (before - after) * place / 4};
}

// Returns the place of the largest interpolated |ρ| within search_reach of the middle. A series
// with a carrier has maxima between samples that are not beside the largest sample.
double largest_between(const Values& rho) {
    const auto middle = static_cast<double>(rho.size() / 2);
    constexpr index_t steps = 8;  // of a sample
    double step = 1.0 / steps;
    const auto height = [&](double place) { return std::abs(interpolated(rho, place)); };
    std::vector<double> heights;
    for (index_t i = -search_reach * steps; i <= search_reach * steps; ++i)
        heights.push_back(height(middle + static_cast<double>(i) * step));
    double best = middle, most = -1;
    for (std::size_t i = 1; i + 1 < heights.size(); ++i) {
        if (heights[i] < heights[i - 1] || heights[i] < heights[i + 1]) continue;
        const Vertex vertex = vertex_of(heights[i - 1], heights[i], heights[i + 1]);
        if (vertex.height <= most) continue;
        most = vertex.height;
        best = middle - static_cast<double>(search_reach) +
               (static_cast<double>(i) + vertex.place) * step;
    }
    // Parabolas of smaller and smaller steps.
    for (int turn = 0; turn < 2; ++turn) {
        step /= steps;
        best += step * vertex_of(height(best - step), height(best), height(best + step)).place;
    }
    return best;
}

bool is_finite(const std::complex<double>& value) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
}

}  // namespace

const char* to_string(PeakPosition position) {
    return name_of(position);
}

PeakPosition parse_peak_position(std::string_view text) {
    if (const auto position = value_named<PeakPosition>(text)) return *position;
    throw InvalidArgument(message("'", text, "' is no way to place a peak: use one of ",
                                  list_of_names<PeakPosition>()));
}

index_t peak_margin(PeakPosition position) {
    return position == PeakPosition::interpolated ? sinc_reach + search_reach + 1 : 1;
}

RefinedPeak refine_peak(const Values& rho, PeakPosition position, bool is_complex) {
    const auto middle = static_cast<index_t>(rho.size() / 2);
    const auto at = [&](index_t i) { return rho[static_cast<std::size_t>(i)]; };
    const auto phase_of = [&](const std::complex<double>& value) {
        if (is_complex) return std::arg(value);
        return value.real() < 0 ? std::numbers::pi : 0;
    };
    RefinedPeak peak;
    peak.sample_snr = peak.snr = std::abs(at(middle));
    peak.phase = phase_of(at(middle));
    if (position == PeakPosition::parabola) {
        // A real series may change its sign from sample to sample.
        const double sign = at(middle).real() < 0 ? -1 : 1;
        const auto height = [&](index_t i) {
            return is_complex ? std::abs(at(i)) : sign * at(i).real();
        };
        const Vertex vertex = vertex_of(height(middle - 1), peak.snr, height(middle + 1));
        peak.offset = vertex.place;
        peak.snr = vertex.height;
    } else if (position == PeakPosition::interpolated &&
               std::all_of(rho.begin(), rho.end(), is_finite)) {
        const double best = largest_between(rho);
        const std::complex<double> value = interpolated(rho, best);
        peak.offset = best - static_cast<double>(middle);
        peak.snr = std::abs(value);
        peak.phase = phase_of(value);
    }
    return peak;
}

}  // namespace convolume
