// SPDX-License-Identifier: Apache-2.0
// Sums of samples and taps, which are interpolated for each result. Threads share chunks of
// results. The taps of a group of results are computed once, for all signals.

#include <algorithm>
#include <array>

#include "core/threads.hpp"
#include "cpu/signals/polyphase_loops.hpp"
#include "cpu/signals/resampling.hpp"
#include "cpu/signals/signal_rows.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t shared_results = 256;
// Most results of a group, about the most taps of their table, which stays in a core's cache, and
// the most samples between the first result of a group and its last one.
constexpr index_t most_group_results = 64;
constexpr index_t most_table_taps = 8192;
constexpr index_t most_group_span = 8192;
// Cycle of phases that do not repeat.
constexpr index_t never_repeated = index_t{1} << 40;

template <class Real>
class RateConversion : public PreparedRateConversion {
  public:
    explicit RateConversion(const RateFilter& filter)
        : half_(filter.half),
          pieces_(filter.pieces),
          padded_(round_up(filter.taps(), polyphase_lanes(Real{}))),
          padding_(padded_ - filter.taps()),
          most_(std::clamp<index_t>(most_table_taps / padded_, 1, most_group_results)),
          is_complex_(filter.complex_data),
          rows_(SignalExtension::constant, 0, filter.complex_data) {
        constexpr index_t powers = RateFilter::powers;
        const index_t size = checked_multiply(pieces_ * powers, padded_);
        table_ = Buffer(bytes_of<Real>(size), "the taps of a conversion of rates");
        const auto* from = filter.coefficients.data();
        Real* const table = table_.as<Real>();
        std::fill(table, table + size, Real{});
        for (index_t piece = 0; piece < pieces_; ++piece)
            for (index_t tap = 0; tap < filter.taps(); ++tap)
                for (index_t power = 0; power < powers; ++power)
                    table[(piece * powers + power) * padded_ + padding_ + tap] =
                        static_cast<Real>(*from++);
    }

    void convert(const ResampledSignals& signals, const SamplePosition* positions,
                 const ImageView& results, int threads,
                 const ExecutionContext& context) const override {
        const index_t signal_count = results.shape.z * results.shape.y;
        const index_t chunks = ceil_div(results.shape.x, shared_results);
        if (chunks == 0 || signal_count == 0) return;
        // Threads share the signals, too, if there are fewer chunks than threads.
        const index_t parts = std::min(signal_count, ceil_div(index_t{threads}, chunks));
        const index_t bytes = scratch_bytes();
        const Buffer scratch(checked_multiply(bytes, threads), "chunks");
        ParallelLoop(threads, context).run(chunks * parts, 0, 1, [&](index_t task, int thread) {
            const index_t part = task % parts, begin = task / parts * shared_results;
            const SignalPart own{signals, results, signal_count * part / parts,
                                 signal_count * (part + 1) / parts};
            ScratchArena arena(scratch.as<char>() + thread * bytes);
            convert_chunk(own, positions, begin, std::min(begin + shared_results, results.shape.x),
                          arena);
        });
    }

  private:
    /// Signals begin … end - 1, and their results.
    struct SignalPart {
        ResampledSignals signals;
        ImageView results;
        index_t begin, end;
    };
    /// Results that are computed together: their taps, and their samples.
    struct Group {
        index_t begin, count;
        PolyphaseTaps<Real> taps;
        SampleWindow window;
    };

    index_t scratch_bytes() const {
        return round_up(
            SignalRows<Real>::scratch_bytes(most_group_span + padded_, most_group_results) +
                ScratchArena::room_for<Real>(most_ * padded_),
            static_cast<index_t>(Buffer::alignment));
    }

    void convert_chunk(const SignalPart& part, const SamplePosition* positions, index_t begin,
                       index_t end, ScratchArena scratch) const {
        Real* const taps = scratch.take<Real>(most_ * padded_);
        std::array<index_t, most_group_results> newest{}, first_taps{};
        for (index_t n = 0; n < most_; ++n) first_taps[static_cast<std::size_t>(n)] = n * padded_;
        for (index_t count = 0; begin < end; begin += count) {
            const index_t first = positions[begin].whole;
            for (count = 0; count < std::min(most_, end - begin); ++count) {
                const index_t whole = positions[begin + count].whole;
                if (whole - first > most_group_span) break;
                newest[static_cast<std::size_t>(count)] = whole + half_;
            }
            interpolate(positions + begin, count, taps);
            Group group{begin, count, {}, {}};
            group.taps = {.taps = taps,
                          .padded_taps = padded_,
                          .padding = padding_,
                          .cycle = never_repeated,
                          .newest = newest.data(),
                          .begin = first_taps.data()};
            const index_t oldest = first + half_ - padded_ + 1;
            const index_t last = newest[static_cast<std::size_t>(count - 1)];
            group.window = {oldest, last + 1 - oldest, padding_};
            for (index_t row = part.begin; row < part.end; ++row)
                convert_group(part, row, group, scratch);
        }
    }

    void interpolate(const SamplePosition* positions, index_t count, Real* taps) const {
        std::array<const Real*, most_group_results> pieces{};
        std::array<Real, most_group_results> places{};
        for (index_t n = 0; n < count; ++n) {
            const double place = 0x1p-53 * static_cast<double>(positions[n].fraction >> 11) *
                                 static_cast<double>(pieces_);
            // The product may be rounded up to the number of pieces.
            const index_t piece = std::min(static_cast<index_t>(place), pieces_ - 1);
            pieces[static_cast<std::size_t>(n)] =
                table_.as<Real>() + piece * RateFilter::powers * padded_;
            places[static_cast<std::size_t>(n)] =
                static_cast<Real>(2 * (place - static_cast<double>(piece)) - 1);
        }
        interpolate_taps(pieces.data(), places.data(), padded_, taps, count);
    }

    void convert_group(const SignalPart& part, index_t row, const Group& group,
                       ScratchArena scratch) const {
        const ImageView& results = part.results;
        const index_t z = row / results.shape.y, y = row % results.shape.y;
        const Real* samples[2] = {nullptr, nullptr};
        rows_.read(part.signals, z, y, group.window, scratch, samples);
        if (!is_complex_ && results.strides.x == 1) {
            auto* const out = static_cast<Real*>(results.at(z, y, group.begin));
            sum_phases(group.taps, 0, samples[0], false, out, group.count);
            return;
        }
        std::array<Real, most_group_results> real, imaginary;
        Real* const sums[2] = {real.data(), is_complex_ ? imaginary.data() : nullptr};
        sum_phases(group.taps, 0, samples[0], false, sums[0], group.count);
        if (is_complex_) sum_phases(group.taps, 0, samples[1], false, sums[1], group.count);
        SignalRows<Real>::store(sums, results, z, y, group.begin, group.count, scratch);
    }

    index_t half_, pieces_;
    index_t padded_, padding_;  ///< taps of a result that fill whole vectors; zeros among them
    index_t most_;              ///< most results of a group
    bool is_complex_;
    SignalRows<Real> rows_;
    Buffer table_;  ///< coefficients [piece][power of u][padded tap]
};

}  // namespace

std::unique_ptr<const PreparedRateConversion> make_rate_conversion(const RateFilter& filter) {
    if (filter.precision == Precision::float32)
        return std::make_unique<RateConversion<float>>(filter);
    return std::make_unique<RateConversion<double>>(filter);
}

}  // namespace convolume::cpu
