// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/filter_chunks.hpp"

#include <algorithm>

namespace convolume::gpu {

namespace {

// Returns a length of about `outputs`: a multiple of `unit`, and for unit 1 of `step` if possible.
index_t chunk_length(index_t unit, index_t outputs, index_t step) {
    if (unit == 1) return std::max<index_t>(1, outputs >= step ? outputs / step * step : outputs);
    return std::max<index_t>(1, outputs / unit) * unit;
}

}  // namespace

FilterChunks cut_into_chunks(WindowPost window, index_t peak_window, index_t signal_count,
                             const SampleRange& range, index_t outputs, index_t step) {
    using Kind = WindowPost::Kind;
    FilterChunks result;
    const index_t count = range.count();
    window.length = std::min(window.length, count);
    peak_window = std::min(peak_window, count);
    result.stored_per_signal = window.stored(count);

    if (window.kind == Kind::decimate && window.length > outputs) {
        // Only the results that are stored are computed.
        for (index_t s = 0; s < signal_count; ++s)
            for (index_t w = 0; w < result.stored_per_signal; ++w) {
                const index_t at = range.begin + w * window.length;
                result.list.push_back({s, 1, {at, at + 1}, w, 1});
            }
        return result;
    }
    if (window.kind == Kind::peak && peak_window < window.length) {
        result.peaks_per_window = ceil_div(window.length, peak_window);
        const index_t length = chunk_length(peak_window, outputs, step);
        for (index_t s = 0; s < signal_count; ++s)
            for (index_t w = 0; w < result.stored_per_signal; ++w) {
                const index_t end = std::min(range.end, range.begin + (w + 1) * window.length);
                index_t first_peak = w * result.peaks_per_window;
                for (index_t at = range.begin + w * window.length; at < end; at += length) {
                    const index_t to = std::min(at + length, end);
                    const index_t peaks = ceil_div(to - at, peak_window);
                    result.list.push_back({s, 1, {at, to}, first_peak, peaks});
                    first_peak += peaks;
                }
            }
        result.stored_per_signal *= result.peaks_per_window;
        return result;
    }

    const index_t unit = window.kind == Kind::none ? 1 : window.length;
    const index_t length = chunk_length(unit, outputs, step);
    const index_t signals_per_chunk = std::clamp<index_t>(outputs / count, 1, signal_count);
    for (index_t s = 0; s < signal_count; s += signals_per_chunk)
        for (index_t at = range.begin; at < range.end; at += length) {
            const SampleRange results{at, std::min(at + length, range.end)};
            result.list.push_back({s, std::min(signals_per_chunk, signal_count - s), results,
                                   (at - range.begin) / unit, window.stored(results.count())});
        }
    return result;
}

}  // namespace convolume::gpu
