// SPDX-License-Identifier: Apache-2.0
#pragma once
// For methods that add up several transforms before a filtered sample is complete: they fill
// tiles, of all filters of one signal, which are post-processed afterwards. Plain results are their
// own tile.

#include "cpu/parallel_loop.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/output.hpp"

namespace convolume::cpu {

/// Where filtered samples [range.begin, range.end) of every filter go.
template <class Sample>
struct Tile {
    index_t signal;
    SampleRange range;
    Sample* data;    ///< of filter 0
    index_t stride;  ///< from one filter to the next

    Sample* row(index_t filter) const { return data + filter * stride; }
};

/// Results that are post-processed at a time.
inline constexpr index_t tile_chunk = 4096;

/// Filtered samples of a tile of at most `longest`, where so many results are asked for.
inline index_t tile_samples(const FilterWork& work, index_t longest, index_t results) {
    return std::min(longest, checked_add(results, function_halo(work)));
}

/// Bytes of tiles, and of their post-processing.
template <class Sample>
index_t tile_bytes(const FilterWork& work, index_t longest, index_t results, int threads) {
    if (is_plain(work)) return 0;
    return checked_add(Buffer::rounded_bytes(checked_multiply(
                           checked_multiply(work.filters, tile_samples(work, longest, results)),
                           static_cast<index_t>(sizeof(Sample)))),
                       Buffer::rounded_bytes(checked_multiply(
                           Output<Sample>::scratch_bytes(work, tile_chunk), threads)));
}

/// Calls `compute(tile, begin, end)`, which reports progress from `begin` to `end`, for tiles of at
/// most `longest` filtered samples (at least what one chunk takes), and post-processes them.
template <class Sample, class Compute>
void for_each_tile(const FilterWork& work, const SignalView& signal, const FilterResult& result,
                   index_t longest, const CpuFilters::Resources& use, const Compute& compute) {
    const Output<Sample> output(work, result, signal.signals, tile_chunk);
    const index_t chunks = output.chunks().count();
    const bool plain = output.plain();
    longest = tile_samples(work, longest, result.range.count());
    const index_t scratch_bytes = output.scratch_bytes();
    const BufferPool::Lease rows =
        use.memory.take(plain ? 0
                              : checked_multiply(checked_multiply(work.filters, longest),
                                                 static_cast<index_t>(sizeof(Sample))),
                        use.threads, "filtered samples");
    const BufferPool::Lease scratch =
        use.memory.take(scratch_bytes * use.threads, use.threads, "results");

    const double total = static_cast<double>(signal.signals) * static_cast<double>(chunks);
    double done = 0;
    for (index_t s = 0; s < signal.signals; ++s)
        for (index_t first = 0; first < chunks;) {
            Tile<Sample> tile{s, {}, static_cast<Sample*>(rows.data()), longest};
            tile.range.begin = output.chunks()[first].results.begin - output.before();
            index_t last = first;  // as many chunks as the tile holds
            do {
                tile.range.end = output.chunks()[last].results.end + output.after();
                ++last;
            } while (last < chunks &&
                     output.chunks()[last].results.end + output.after() - tile.range.begin <=
                         longest);
            if (plain) {
                tile.data = output.place(s, 0, tile.range.begin);
                tile.stride = result.filter_stride;
            }
            const double next = done + static_cast<double>(last - first) / total;
            compute(tile, done, next);
            done = next;
            if (!plain)
                ParallelLoop(use.threads, use.context)
                    .run(work.filters * (last - first), done, done, [&](index_t task, int thread) {
                        const index_t f = task / (last - first);
                        const index_t chunk = first + task % (last - first);
                        output.store(
                            s, f, chunk,
                            tile.row(f) + (output.chunks()[chunk].results.begin - tile.range.begin),
                            Scratch(static_cast<char*>(scratch.data()) + thread * scratch_bytes));
                    });
            first = last;
        }
    output.finish();
}

}  // namespace convolume::cpu
