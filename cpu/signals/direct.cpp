// SPDX-License-Identifier: Apache-2.0
// Direct sums of products in time, for short filters.

#include "core/threads.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/result_writer.hpp"
#include "cpu/signals/vector_loops.hpp"
#include "cpu/volumes/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// Taps of a tap group, whose products are summed first: sums of sums have smaller errors.
constexpr index_t group_taps = 64;

// A complex sum is two real sums over two rows, of real and of imaginary parts:
//   re y = Σ re h re x - im h im x,   im y = Σ im h re x + re h im x.
template <class Sample>
class DirectSums : public CpuFilters {
    using Real = real_of<Sample>;
    static constexpr index_t planes = is_complex_sample<Sample> ? 2 : 1;

  public:
    DirectSums(const FilterSpec& spec, const Sample* taps)
        : taps_(spec.taps), weights_(weights_bytes(spec), "filters") {
        // Weights are the taps of the flipped filters, tap group after tap group. In a tap group,
        // all taps of one row precede those of the other row.
        Real* next = weights_.as<Real>();
        for (index_t f = 0; f < spec.filters; ++f)
            for (index_t sum = 0; sum < planes; ++sum)
                for (index_t begin = 0; begin < taps_; begin += group_taps)
                    for (index_t row = 0; row < planes; ++row)
                        for (index_t j = begin; j < std::min(begin + group_taps, taps_); ++j)
                            *next++ = weight(taps[f * taps_ + taps_ - 1 - j], sum, row);
    }

    static index_t weights_bytes(const FilterSpec& spec) {
        return checked_multiply(checked_multiply(spec.filters, spec.taps),
                                bytes_of<Real>(planes * planes));
    }

    static index_t scratch_bytes(const FilterSpec& spec) {
        const index_t filtered = direct_chunk + function_halo(spec);
        return round_up(
            planes * ScratchArena::room_for<Real>(padded(filtered + spec.taps - 1)) +
                planes * ScratchArena::room_for<Real>(padded(filtered)) +
                (planes - 1) * ScratchArena::room_for<Sample>(filtered + spec.taps - 1) +
                ResultWriter<Sample>::scratch_bytes(spec, direct_chunk),
            static_cast<index_t>(Buffer::alignment));
    }

    void filter(const FilterSpec& spec, const SignalView& signal, const FilterResult& result,
                const ExecutionResources& resources) const override {
        const ResultWriter<Sample> writer(spec, result, signal.signals, direct_chunk);
        const index_t per_signal = writer.chunks().count();
        const index_t units = signal.signals * per_signal;
        const index_t groups = filter_groups(units, spec.filters, resources.threads);
        const index_t bytes = scratch_bytes(spec);
        const BufferPool::BorrowedBuffer memory =
            resources.memory.take(bytes * resources.threads, resources.threads, "chunks");

        ParallelLoop(resources.threads, resources.context)
            .run(units * groups, 0, 1, [&](index_t task, int thread) {
                const index_t unit = task / groups;
                const index_t group = task % groups;
                const index_t s = unit / per_signal;
                const index_t chunk = unit % per_signal;
                const SampleRange results = writer.chunks()[chunk].results;
                const index_t count = results.count() + writer.before() + writer.after();

                ScratchArena scratch(static_cast<char*>(memory.data()) + thread * bytes);
                Real* rows[2];
                Real* sums[2];
                for (index_t p = 0; p < planes; ++p) {
                    rows[p] = scratch.take<Real>(padded(count + taps_ - 1));
                    sums[p] = scratch.take<Real>(padded(count));
                }
                const index_t from = results.begin - writer.before() - (taps_ - 1);
                Sample* y = nullptr;
                if constexpr (planes == 1) {
                    load_samples(signal, s, from, count + taps_ - 1, rows[0]);
                    y = sums[0];
                } else {
                    y = scratch.take<Sample>(count + taps_ - 1);
                    const Sample* const x = samples_at(signal, s, from, count + taps_ - 1, y);
                    deinterleave(x, rows[0], rows[1], count + taps_ - 1);
                }
                for (index_t f = group * spec.filters / groups;
                     f < (group + 1) * spec.filters / groups; ++f) {
                    for (index_t sum = 0; sum < planes; ++sum)
                        correlate(rows, weights_.as<Real>() + (f * planes + sum) * planes * taps_,
                                  sums[sum], count);
                    if constexpr (planes == 2) interleave(sums[0], sums[1], y, count);
                    writer.store(s, f, chunk, y + writer.before(), scratch);
                }
            });
        writer.finish();
    }

  private:
    // Returns the room for `count` samples and the samples that correlate_rows reads and writes
    // beyond the end.
    static index_t padded(index_t count) { return count + 2 * row_padding; }

    static Real weight(const Sample& tap, index_t sum, index_t row) {
        if constexpr (planes == 1)
            return tap;
        else if (sum == row)
            return tap.real();
        else
            return sum == 0 ? -tap.imag() : tap.imag();
    }

    void correlate(Real* const* rows, const Real* weights, Real* sum, index_t count) const {
        for (index_t begin = 0; begin < taps_; begin += group_taps) {
            const index_t taps = std::min(group_taps, taps_ - begin);
            const Real* from[2];
            for (index_t p = 0; p < planes; ++p) from[p] = rows[p] + begin;
            correlate_rows(from, planes, weights, taps, begin > 0, sum, count);
            weights += planes * taps;
        }
    }

    index_t taps_;
    Buffer weights_;  ///< weights [filter][sum][tap group][row][tap]
};

}  // namespace

index_t direct_bytes(const FilterSpec& spec, int threads) {
    return visit_sample_type(spec, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        using Method = DirectSums<Sample>;
        return checked_add(
            Buffer::rounded_bytes(Method::weights_bytes(spec)),
            Buffer::rounded_bytes(checked_multiply(Method::scratch_bytes(spec), threads)));
    });
}

std::shared_ptr<const CpuFilters> make_direct_sums(const FilterSpec& spec, const void* taps) {
    return make_filters<DirectSums>(spec, taps);
}

}  // namespace convolume::cpu
