// SPDX-License-Identifier: Apache-2.0
// Overlap-add: the samples of segments do not overlap, their results do, by taps-1. Results are
// added in two steps in which none meets another, so that sums need no atomics: even segments, then
// odd ones (more steps only where a segment has fewer samples than filters have taps).

#include <limits>

#include "cpu/signals/methods.hpp"
#include "cpu/signals/segment_bank.hpp"
#include "cpu/signals/tiles.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// Filtered samples that are added up before they are post-processed; plain ones in their place.
index_t overlap_add_tile(const FilterWork& work) {
    if (is_plain(work)) return std::numeric_limits<index_t>::max();
    constexpr index_t segments_at_a_time = 64;
    return checked_add(checked_multiply(segments_at_a_time, work.segment),
                       tile_chunk + function_halo(work));
}

template <class Sample>
class OverlapAdd : public CpuFilters {
    using Bank = SegmentBank<Sample>;
    using Real = typename Bank::Real;
    using Complex = typename Bank::Complex;
    static constexpr index_t packed = Bank::packed;

  public:
    OverlapAdd(const FilterWork& work, const Sample* taps)
        : bank_(work, taps),
          length_(work.segment),
          hop_(work.segment - (work.taps - 1)),
          steps_(std::max<index_t>(2, ceil_div(length_, hop_))) {}

    static index_t scratch_bytes(const FilterWork& work) {
        return 3 * Scratch::bytes_of<Complex>(work.segment) +
               2 * Scratch::bytes_of<Sample>(work.segment);
    }

    void filter(const FilterWork& work, const SignalView& signal, const FilterResult& result,
                const Resources& use) const override {
        const index_t bytes = scratch_bytes(work);
        const BufferPool::Lease memory =
            use.memory.take(bytes * use.threads, use.threads, "segments");
        for_each_tile<Sample>(
            work, signal, result, overlap_add_tile(work), use,
            [&](const Tile<Sample>& tile, double begin, double end) {
                const index_t segments = ceil_div(tile.range.count() + length_ - hop_, hop_);
                for (index_t step = 0; step < std::min(steps_, segments); ++step) {
                    const index_t in_step = ceil_div(segments - step, steps_);
                    const index_t units = ceil_div(in_step, packed);
                    const index_t groups = filter_groups(units, work.filters, use.threads);
                    const double share = (end - begin) / static_cast<double>(steps_);
                    const double from = begin + static_cast<double>(step) * share;
                    ParallelLoop(use.threads, use.context)
                        .run(units * groups, from, from + share, [&](index_t task, int thread) {
                            const index_t group = task % groups;
                            run(signal, tile, {step, task / groups * packed, in_step},
                                {group * work.filters / groups,
                                 (group + 1) * work.filters / groups},
                                Scratch(static_cast<char*>(memory.data()) + thread * bytes));
                        });
                }
            });
    }

  private:
    /// Segments first, first+1 … of the `count` of a step.
    struct Segments {
        index_t step;
        index_t first;
        index_t count;
    };

    void run(const SignalView& signal, const Tile<Sample>& tile, const Segments& segments,
             const SampleRange& filters, Scratch scratch) const {
        Complex* const segment = scratch.take<Complex>(length_);
        Complex* const spectrum = scratch.take<Complex>(length_);
        Complex* const product = scratch.take<Complex>(length_);
        Sample* rows[2];
        for (Sample*& row : rows) row = scratch.take<Sample>(length_);
        // A segment's first sample, and the first result that it adds to.
        const auto start = [&](index_t p) {
            return tile.range.begin - (length_ - hop_) +
                   (segments.step + (segments.first + p) * steps_) * hop_;
        };
        const index_t count = std::min(packed, segments.count - segments.first);
        for (index_t p = 0; p < packed; ++p) {
            Sample* const row = packed == 1 ? reinterpret_cast<Sample*>(segment) : rows[p];
            const index_t samples = p < count ? hop_ : 0;
            if (samples > 0) load_samples(signal, tile.signal, start(p), samples, row);
            std::fill(row + samples, row + length_, Sample{});
        }
        if constexpr (packed == 2) interleave(rows[0], rows[1], segment, length_);
        bank_.transform(segment, spectrum);
        for (index_t f = filters.begin; f < filters.end; ++f) {
            bank_.filter(f, spectrum, product, segment);
            if constexpr (packed == 1) {
                add_segment(segment, start(0), segments.step == 0, tile, f);
            } else {
                deinterleave(segment, rows[0], rows[1], length_);
                for (index_t p = 0; p < count; ++p)
                    add_segment(rows[p], start(p), segments.step == 0, tile, f);
            }
        }
    }

    // The first step's segments write, with zeros up to each other, what the others' add to.
    void add_segment(const Sample* y, index_t start, bool first_step, const Tile<Sample>& tile,
                     index_t f) const {
        const index_t begin = std::max(start, tile.range.begin);
        const index_t end = std::min(start + length_, tile.range.end);
        Sample* const row = tile.row(f) - tile.range.begin;
        if (first_step) {
            std::copy(y + (begin - start), y + (end - start), row + begin);
            const index_t covered = std::min(start + steps_ * hop_, tile.range.end);
            if (covered > end) std::fill(row + end, row + covered, Sample{});
        } else if (end > begin) {
            constexpr index_t reals = sizeof(Sample) / sizeof(Real);
            add(reinterpret_cast<const Real*>(y + (begin - start)),
                reinterpret_cast<Real*>(row + begin), (end - begin) * reals);
        }
    }

    Bank bank_;
    index_t length_;
    index_t hop_;  ///< samples of the signal in a segment
    index_t steps_;
};

}  // namespace

index_t overlap_add_bytes(const FilterWork& work, index_t results, int threads) {
    return visit_sample_type(work, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        return checked_add(checked_add(SegmentBank<Sample>::bytes(work),
                                       Buffer::rounded_bytes(checked_multiply(
                                           OverlapAdd<Sample>::scratch_bytes(work), threads))),
                           tile_bytes<Sample>(work, overlap_add_tile(work), results, threads));
    });
}

std::shared_ptr<const CpuFilters> make_overlap_add(const FilterWork& work, const void* taps) {
    return visit_sample_type(work, [&](auto tag) -> std::shared_ptr<const CpuFilters> {
        using Sample = typename decltype(tag)::type;
        return std::make_shared<OverlapAdd<Sample>>(work, static_cast<const Sample*>(taps));
    });
}

}  // namespace convolume::cpu
