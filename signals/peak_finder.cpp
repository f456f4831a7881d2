// SPDX-License-Identifier: Apache-2.0
#include "signals/peak_finder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/threads.hpp"
#include "signals/peak_position.hpp"

namespace convolume {

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
