// SPDX-License-Identifier: Apache-2.0
#pragma once
// Post-processing of filtered samples before they are stored: the caller's function, or power, then
// windows. Methods pass one chunk of one filter of one signal at a time, from cache, or fill tiles
// of all filters of one signal.

#include <vector>

#include "core/buffer_pool.hpp"
#include "core/result_chunks.hpp"
#include "cpu/parallel_loop.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

template <class Sample>
class Output {
  public:
    /// `longest`: largest number of results in a chunk. `work` is kept by reference.
    Output(const FilterWork& work, const FilterResult& result, index_t signals, index_t longest);

    const ResultChunks& chunks() const { return chunks_; }
    /// Return the number of filtered samples that are read before and after each result.
    index_t before() const { return work_.function ? work_.function->before : 0; }
    index_t after() const { return work_.function ? work_.function->after : 0; }

    /// Whether filtered samples are stored without post-processing. Then methods may write them
    /// directly, to `place`.
    bool plain() const { return is_plain(work_); }
    /// Returns the address of result n, if results are plain.
    Sample* place(index_t signal, index_t filter, index_t n) const {
        return static_cast<Sample*>(result_.data) + signal * result_.signal_stride +
               filter * result_.filter_stride + (n - result_.range.begin);
    }

    /// Returns the bytes of scratch memory that store() needs in each thread.
    index_t scratch_bytes() const { return scratch_bytes(work_, longest_); }
    static index_t scratch_bytes(const FilterWork& work, index_t longest);

    /// Post-processes and stores a chunk. `y` points to the filtered sample of the chunk's first
    /// result; y[-before()] … can be read.
    void store(index_t signal, index_t filter, index_t chunk, const Sample* y,
               Scratch scratch) const;

    /// Combines the peaks of windows that were computed in several chunks.
    void finish() const;

  private:
    template <class Real>
    void store_peaks(index_t signal, index_t filter, index_t chunk, const Real* values) const;
    template <class Real>
    void combine_parts() const;

    const FilterWork& work_;
    FilterResult result_;
    index_t signals_;
    index_t longest_;
    ResultChunks chunks_;
    /// Peaks of all chunks, if windows have several chunks: [signal][filter][chunk].
    Buffer part_values_;
    Buffer part_positions_;
};

// Tiles are for methods that add several transforms before a filtered sample is complete. A tile is
// filled first and post-processed afterwards. Plain results are filled in place.

/// Target of the filtered samples [range.begin, range.end) of every filter.
template <class Sample>
struct Tile {
    index_t signal;
    SampleRange range;
    Sample* data;    ///< samples of filter 0
    index_t stride;  ///< distance in samples between consecutive filters

    Sample* row(index_t filter) const { return data + filter * stride; }
};

/// Results that are post-processed at a time.
inline constexpr index_t tile_chunk = 4096;

/// Returns the filtered samples of a tile of at most `longest` samples, if `results` are requested.
inline index_t tile_samples(const FilterWork& work, index_t longest, index_t results) {
    return std::min(longest, checked_add(results, function_halo(work)));
}

/// Returns the bytes of a tile and of its post-processing.
template <class Sample>
index_t tile_bytes(const FilterWork& work, index_t longest, index_t results, int threads) {
    if (is_plain(work)) return 0;
    return checked_add(Buffer::rounded_bytes(checked_multiply(
                           checked_multiply(work.filters, tile_samples(work, longest, results)),
                           static_cast<index_t>(sizeof(Sample)))),
                       Buffer::rounded_bytes(checked_multiply(
                           Output<Sample>::scratch_bytes(work, tile_chunk), threads)));
}

/// Calls `compute(tile, begin, end)`, which reports progress from `begin` to `end`, and
/// post-processes the tile. Tiles have at most `longest` filtered samples, and hold at least one
/// chunk.
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
            index_t last = first;  // one past the last chunk that fits the tile
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
