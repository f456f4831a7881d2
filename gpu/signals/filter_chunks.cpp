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

FilterChunks cut_into_chunks(WindowPost window, index_t pick, index_t signals,
                             const SampleRange& range, index_t outputs, index_t step) {
    using Kind = WindowPost::Kind;
    FilterChunks result;
    const index_t count = range.count();
    window.length = std::min(window.length, count);
    pick = std::min(pick, count);
    result.stored = window.stored(count);

    if (window.kind == Kind::decimate && window.length > outputs) {
        // Only the results that are stored are computed.
        for (index_t s = 0; s < signals; ++s)
            for (index_t w = 0; w < result.stored; ++w) {
                const index_t at = range.begin + w * window.length;
                result.list.push_back({s, 1, {at, at + 1}, w, 1});
            }
        return result;
    }
    if (window.kind == Kind::peak && pick < window.length) {
        result.parts = ceil_div(window.length, pick);
        const index_t length = chunk_length(pick, outputs, step);
        for (index_t s = 0; s < signals; ++s)
            for (index_t w = 0; w < result.stored; ++w) {
                const index_t end = std::min(range.end, range.begin + (w + 1) * window.length);
                index_t part = w * result.parts;
                for (index_t at = range.begin + w * window.length; at < end; at += length) {
                    const index_t to = std::min(at + length, end);
                    const index_t parts = ceil_div(to - at, pick);
                    result.list.push_back({s, 1, {at, to}, part, parts});
                    part += parts;
                }
            }
        result.stored *= result.parts;
        return result;
    }

    const index_t unit = window.kind == Kind::none ? 1 : window.length;
    const index_t length = chunk_length(unit, outputs, step);
    const index_t together = std::clamp<index_t>(outputs / count, 1, signals);
    for (index_t s = 0; s < signals; s += together)
        for (index_t at = range.begin; at < range.end; at += length) {
            const SampleRange results{at, std::min(at + length, range.end)};
            result.list.push_back({s, std::min(together, signals - s), results,
                                   (at - range.begin) / unit, window.stored(results.count())});
        }
    return result;
}

}  // namespace convolume::gpu
