// SPDX-License-Identifier: Apache-2.0
// Checks that chunks cover every result once: arithmetic that needs no GPU.

#include <algorithm>
#include <vector>

#include "gpu/signals/filter_chunks.hpp"
#include "tests/catch.hpp"

namespace convolume::gpu {

namespace {

void check_cut(const WindowPost& window, index_t pick, index_t signals, SampleRange range,
               index_t outputs, index_t step) {
    INFO(to_string(window) << ", picked from " << pick << ", " << signals << " signals, "
                           << range.count() << " results by " << outputs << " in steps of "
                           << step);
    const auto chunks = cut_into_chunks(window, pick, signals, range, outputs, step);
    std::vector<int> stored(static_cast<std::size_t>(signals * chunks.stored_per_signal));
    const bool sparse = window.kind == WindowPost::Kind::decimate && window.length > outputs;
    index_t covered = 0;
    bool inside = true, small = true, at_windows = true;
    for (const FilterChunk& chunk : chunks.list) {
        inside = inside && chunk.range.begin >= range.begin && chunk.range.end <= range.end &&
                 chunk.range.count() > 0;
        small = small &&
                chunk.range.count() * chunk.signal_count <=
                    std::max(outputs, window.kind == WindowPost::Kind::none ? 1 : window.length);
        if (window.kind != WindowPost::Kind::none && chunks.peaks_per_window == 1)
            at_windows = at_windows && (chunk.range.begin - range.begin) % window.length == 0;
        covered += chunk.range.count() * chunk.signal_count;
        for (index_t s = chunk.first_signal; s < chunk.first_signal + chunk.signal_count; ++s)
            for (index_t i = 0; i < chunk.stored_count; ++i)
                ++stored[static_cast<std::size_t>(s * chunks.stored_per_signal +
                                                  chunk.stored_begin + i)];
    }
    CHECK(inside);
    CHECK(small);
    CHECK(at_windows);
    CHECK(covered == (sparse ? signals * chunks.stored_per_signal : signals * range.count()));
    index_t unused = 0, twice = 0;
    for (const int times : stored) {
        unused += times == 0;
        twice += times > 1;
    }
    CHECK(twice == 0);
    // Partial peaks have room for whole windows; a shorter last window needs less.
    CHECK(unused <= signals * (chunks.peaks_per_window - 1));
}

}  // namespace

TEST_CASE("chunks cover every result once") {
    using Kind = WindowPost::Kind;
    for (const index_t signals : {1, 3, 50})
        for (const index_t count : {1, 99, 1000})
            for (const index_t outputs : {1, 7, 64, 5000})
                for (const index_t step : {1, 32, 200}) {
                    const SampleRange range{5, 5 + count};
                    check_cut({}, 1, signals, range, outputs, step);
                    for (const index_t window : {1, 4, 150, 2000}) {
                        check_cut({Kind::decimate, window}, window, signals, range, outputs, step);
                        check_cut({Kind::peak, window}, window, signals, range, outputs, step);
                        if (window > 10)
                            check_cut({Kind::peak, window}, ceil_div(window, 3), signals, range,
                                      outputs, step);
                    }
                }
}

}  // namespace convolume::gpu
