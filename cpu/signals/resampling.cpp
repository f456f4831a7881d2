// SPDX-License-Identifier: Apache-2.0
// Polyphase sums: threads share chunks of results.

#include "cpu/signals/resampling.hpp"

#include <algorithm>

#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "cpu/signals/polyphase_loops.hpp"
#include "cpu/signals/signal_rows.hpp"

namespace convolume::cpu {

namespace {

// Most results, and about the most samples, of a chunk: they stay in a core's cache.
constexpr index_t chunk_results = 8192;
constexpr index_t chunk_samples = 16384;

template <class Real>
class Polyphase : public PreparedResampling {
  public:
    Polyphase(const ResampleSpec& spec, const ConstImageView& taps)
        : spec_(spec), rows_(spec.options.extension, spec.options.value, spec.complex_data) {
        phases_.padded_taps = round_up(spec.taps_per_phase(), polyphase_lanes(Real{}));
        phases_.padding = phases_.padded_taps - spec.taps_per_phase();
        phases_.cycle = spec.cycle();
        phases_.samples_per_cycle = spec.samples_per_cycle();
        const index_t places = phases_.cycle + most_polyphase_results;
        for (index_t n = 0; n < places; ++n) {
            newest_.push_back(spec.newest_sample(n));
            begin_.push_back(n % phases_.cycle * phases_.padded_taps);
        }
        phases_.newest = newest_.data();
        phases_.begin = begin_.data();
        fill_tables(taps);
    }

    void resample(const ResampledSignals& signals, index_t first_result, const ImageView& results,
                  int threads, const ExecutionContext& context) const override {
        const index_t rows = results.shape.z * results.shape.y;
        index_t chunk = std::clamp<index_t>(
            chunk_samples * phases_.cycle / phases_.samples_per_cycle, 64, chunk_results);
        // Whole cycles are summed fastest, most_polyphase_results of them together.
        const index_t cycles = most_polyphase_results * phases_.cycle;
        if (chunk > cycles) chunk -= chunk % cycles;
        chunk = std::min(chunk, results.shape.x);
        if (chunk == 0 || rows == 0) return;
        const index_t chunks = ceil_div(results.shape.x, chunk);
        const Work work{signals, first_result, results, chunk};
        const index_t bytes = scratch_bytes(work);
        const Buffer scratch(checked_multiply(bytes, threads), "chunks");
        // Neighboring signals of which samples alternate in memory follow each other.
        ParallelLoop(threads, context).run(rows * chunks, 0, 1, [&](index_t task, int thread) {
            resample_chunk(work, task % rows, task / rows,
                           ScratchArena(scratch.as<char>() + thread * bytes));
        });
    }

  private:
    struct Work {
        ResampledSignals signals;
        index_t first_result;
        ImageView results;
        index_t chunk;
    };

    // Taps of the real and imaginary part of results, for the real and imaginary part of samples:
    // y.re = h.re x.re - h.im x.im, y.im = h.im x.re + h.re x.im. Tables that would be 0 are
    // absent.
    void fill_tables(const ConstImageView& taps) {
        const index_t size = checked_multiply(phases_.cycle, phases_.padded_taps);
        const pixels::RowGather all(identity_indices(spec_.taps));
        std::vector<std::complex<double>> h(static_cast<std::size_t>(spec_.taps));
        pixels::load_row(taps, 0, 0, all, {}, h.data());
        const auto fill = [&](Buffer& table, const auto& part) {
            table = Buffer(bytes_of<Real>(size), "taps");
            Real* next = table.template as<Real>();
            for (index_t n = 0; n < phases_.cycle; ++n)
                for (index_t j = phases_.padded_taps - 1; j >= 0; --j) {
                    const index_t tap = spec_.phase(n) + j * spec_.options.up;
                    *next++ = tap < spec_.taps
                                  ? static_cast<Real>(part(h[static_cast<std::size_t>(tap)]))
                                  : Real{};
                }
        };
        fill(real_, [](std::complex<double> tap) { return tap.real(); });
        if (!spec_.complex_taps) return;
        fill(imaginary_, [](std::complex<double> tap) { return tap.imag(); });
        if (spec_.complex_data)
            fill(minus_imaginary_, [](std::complex<double> tap) { return -tap.imag(); });
    }

    SampleWindow window_of(index_t first_result, index_t count) const {
        const index_t first = spec_.newest_sample(first_result) - phases_.padded_taps + 1;
        return {first, spec_.newest_sample(first_result + count - 1) + 1 - first, phases_.padding};
    }

    index_t most_window(index_t results) const {
        return (ceil_div(results, phases_.cycle) + 1) * phases_.samples_per_cycle +
               phases_.padded_taps;
    }

    index_t scratch_bytes(const Work& work) const {
        return round_up(SignalRows<Real>::scratch_bytes(most_window(work.chunk), work.chunk) +
                            2 * ScratchArena::room_for<Real>(work.chunk),
                        static_cast<index_t>(Buffer::alignment));
    }

    void resample_chunk(const Work& work, index_t row, index_t chunk, ScratchArena scratch) const {
        const ImageView& results = work.results;
        const index_t z = row / results.shape.y, y = row % results.shape.y;
        const index_t begin = chunk * work.chunk;
        const index_t count = std::min(work.chunk, results.shape.x - begin);
        const index_t first = work.first_result + begin;
        const Real* samples[2] = {nullptr, nullptr};
        rows_.read(work.signals, z, y, window_of(first, count), scratch, samples);
        const bool is_straight = !spec_.complex_results() && results.strides.x == 1;
        Real* sums[2] = {nullptr, nullptr};
        sums[0] = is_straight ? static_cast<Real*>(results.at(z, y, begin))
                              : scratch.take<Real>(work.chunk);
        const index_t q = first % phases_.cycle;
        sum(real_, q, samples[0], false, sums[0], count);
        if (is_straight) return;
        if (spec_.complex_results()) sums[1] = scratch.take<Real>(work.chunk);
        if (spec_.complex_taps) {
            sum(imaginary_, q, samples[0], false, sums[1], count);
            if (spec_.complex_data) {
                sum(minus_imaginary_, q, samples[1], true, sums[0], count);
                sum(real_, q, samples[1], true, sums[1], count);
            }
        } else if (spec_.complex_data) {
            sum(real_, q, samples[1], false, sums[1], count);
        }
        SignalRows<Real>::store(sums, results, z, y, begin, count, scratch);
    }

    void sum(const Buffer& table, index_t q, const Real* samples, bool accumulate, Real* out,
             index_t count) const {
        PolyphaseTaps<Real> phases = phases_;
        phases.taps = table.template as<Real>();
        sum_phases(phases, q, samples, accumulate, out, count);
    }

    ResampleSpec spec_;
    SignalRows<Real> rows_;
    PolyphaseTaps<Real> phases_;
    std::vector<index_t> newest_, begin_;
    Buffer real_, imaginary_, minus_imaginary_;  ///< tables of taps
};

}  // namespace

std::unique_ptr<const PreparedResampling> make_resampling(const ResampleSpec& spec,
                                                          const ConstImageView& taps) {
    if (spec.options.precision == Precision::float32)
        return std::make_unique<Polyphase<float>>(spec, taps);
    return std::make_unique<Polyphase<double>>(spec, taps);
}

}  // namespace convolume::cpu
