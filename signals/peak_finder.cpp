// SPDX-License-Identifier: Apache-2.0
#include "signals/peak_finder.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <numbers>
#include <utility>
#include <vector>

#include "convolume/correlation.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

// Positions of peaks between samples.

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

struct RefinedPeak {
    double sample_snr = 0;  ///< |ρ| at the middle one
    double offset = 0;      ///< position relative to the middle one of the samples
    double snr = 0;         ///< |ρ| at the peak
    double phase = 0;       ///< argument of ρ
};

/// Returns the number of samples on each side of a peak that refine_peak() needs.
index_t peak_margin(PeakPosition position) {
    return position == PeakPosition::interpolated ? sinc_reach + search_reach + 1 : 1;
}

/// Refines a peak from 2 · peak_margin() + 1 values of ρ, of which the middle one is the largest
/// sample. Does not refine beside values that are not finite.
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

}  // namespace

PeakFinder::PeakFinder(const PeakSearch& search, SampleMemory& memory, const PeakFunction& on_peaks,
                       ResultSink* series)
    : search_(search),
      memory_(memory),
      on_peaks_(on_peaks),
      series_(series),
      margin_(peak_margin(search.options.position)) {
    // Powers of single precision may be less than those that are computed again.
    constexpr double slack = 1 - 1e-3;
    smallest_power_ = std::pow(slack * search.options.threshold, 2);
}

void PeakFinder::cancel() {
    if (series_) series_->cancel();
}

void PeakFinder::write(index_t signal, index_t filter, index_t begin, index_t count,
                       const void* from) {
    if (series_) series_->write(signal, filter, begin, count, from);
    const PixelType type = search_.bank.result_type();
    if (search_.options.keeps_series) {
        const index_t first = begin / search_.window;
        begin_chunk(signal, filter, first, (begin + count - 1) / search_.window + 1 - first);
        visit_pixel_type(type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (!std::is_integral_v<T>)
                add_series(filter, begin, count, static_cast<const T*>(from));
        });
        end_chunk(filter);
        return;
    }
    begin_chunk(signal, filter, begin, count);
    powers_.resize(static_cast<std::size_t>(count));
    if (type == PixelType::float32)
        std::copy_n(static_cast<const float*>(from), count, powers_.begin());
    else
        std::copy_n(static_cast<const double*>(from), count, powers_.begin());
}

void PeakFinder::write_positions(index_t, index_t filter, index_t begin, index_t count,
                                 const index_t* from) {
    for (index_t i = 0; i < count; ++i)
        add(filter, begin + i,
            {powers_[static_cast<std::size_t>(i)], from[i] - search_.bank.origin(), filter});
    end_chunk(filter);
}

template <class Value>
void PeakFinder::add_series(index_t filter, index_t begin, index_t count, const Value* from) {
    const index_t position = search_.bank.range().begin - search_.bank.origin() + begin;
    for (index_t i = 0; i < count;) {
        const index_t window = (begin + i) / search_.window;
        const index_t end = std::min(count, (window + 1) * search_.window - begin);
        Maximum found{-1, position + i, filter};
        for (; i < end; ++i)
            if (const double power = std::norm(from[i]); power > found.power)
                found = {power, position + i, filter};
        add(filter, window, found);
    }
}

void PeakFinder::begin_chunk(index_t signal, index_t filter, index_t first_window,
                             index_t windows) {
    if (filter > 0) return;
    if (signal != signal_) {
        finish();
        signal_ = signal;
        const bool per_template = search_.options.per_template;
        rows_.assign(per_template ? search_.templates.size() : 1, {});
    }
    first_window_ = first_window;
    in_chunk_.assign(rows_.size() * static_cast<std::size_t>(windows), {});
}

void PeakFinder::add(index_t filter, index_t window, const Maximum& found) {
    const auto windows = static_cast<index_t>(in_chunk_.size() / rows_.size());
    const index_t row = search_.options.per_template ? filter : 0;
    Maximum& most = in_chunk_[static_cast<std::size_t>(row * windows + (window - first_window_))];
    if (found.power > most.power) most = found;
}

void PeakFinder::end_chunk(index_t filter) {
    if (filter + 1 < static_cast<index_t>(search_.templates.size())) return;
    const std::size_t windows = in_chunk_.size() / rows_.size();
    for (std::size_t r = 0; r < rows_.size(); ++r)
        for (std::size_t w = 0; w < windows; ++w) {
            Row& row = rows_[r];
            const Maximum& found = in_chunk_[r * windows + w];
            const index_t window = first_window_ + static_cast<index_t>(w);
            if (window != row.window) {
                close(row);
                row.window = window;
                row.open = found;
            } else if (found.power > row.open.power) {
                row.open = found;
            }
        }
    report(false);
}

void PeakFinder::close(Row& row) {
    if (row.window < 0) return;
    const Maximum now = row.open;
    bool is_dominated = false;
    if (row.before) {
        const bool is_near = now.position - row.before->position <= search_.window;
        is_dominated = is_near && row.before->power >= now.power;
        const bool dominates = is_near && now.power > row.before->power;
        if (!row.is_dominated && !dominates && row.before->power >= smallest_power_)
            decided_.push_back(*row.before);
    }
    row.before = now;
    row.is_dominated = is_dominated;
}

void PeakFinder::finish() {
    for (Row& row : rows_) {
        close(row);
        if (row.before && !row.is_dominated && row.before->power >= smallest_power_)
            decided_.push_back(*row.before);
    }
    report(true);
    memory_.release(signal_);
    rows_.clear();
}

void PeakFinder::report(bool is_end) {
    std::sort(decided_.begin(), decided_.end(), [](const Maximum& a, const Maximum& b) {
        return std::pair(a.position, a.template_index) < std::pair(b.position, b.template_index);
    });
    const index_t samples = memory_.samples_there(signal_);
    const index_t reach = search_.bank.taps() + margin_;
    const auto ready = std::find_if(decided_.begin(), decided_.end(), [&](const Maximum& peak) {
        return !is_end && peak.position + reach > samples;
    });
    std::vector<CorrelationPeak> peaks(
        static_cast<std::size_t>(std::distance(decided_.begin(), ready)));
    parallel_for(static_cast<index_t>(peaks.size()), search_.threads, [&](index_t i, int) {
        const auto at = static_cast<std::size_t>(i);
        peaks[at] = refined(decided_[at]);
    });
    decided_.erase(decided_.begin(), ready);
    std::erase_if(peaks, [](const CorrelationPeak& peak) { return peak.signal < 0; });
    if (!peaks.empty()) on_peaks_(peaks);
    if (is_end) return;
    // The window before the open one may still have a peak.
    index_t needed = search_.bank.range().begin - search_.bank.origin() +
                     (rows_.front().window - 1) * search_.window;
    if (!decided_.empty()) needed = std::min(needed, decided_.front().position);
    memory_.release(signal_, needed - margin_);
}

CorrelationPeak PeakFinder::refined(const Maximum& maximum) const {
    const MatchedTemplate& matched =
        search_.templates[static_cast<std::size_t>(maximum.template_index)];
    const index_t count = 2 * margin_ + 1;
    std::vector<std::complex<double>> samples(static_cast<std::size_t>(count + matched.size() - 1));
    memory_.recall(signal_, maximum.position - margin_, static_cast<index_t>(samples.size()),
                   search_.options.filters.nan == NanPolicy::zero, samples.data());
    const RefinedPeak peak = refine_peak(matched.snr(samples.data(), count),
                                         search_.options.position, search_.is_complex);
    const bool is_peak = peak.sample_snr >= search_.options.threshold;
    return {is_peak ? signal_ : -1, maximum.template_index,
            static_cast<double>(maximum.position) + peak.offset, peak.snr, peak.phase};
}

}  // namespace convolume
