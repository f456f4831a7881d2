// SPDX-License-Identifier: Apache-2.0
// Polyphase sums: threads share chunks of results. A chunk's samples are read where they are, if
// they are real, contiguous and of the precision. Otherwise they are loaded into rows of real and
// of imaginary parts, whose sums are stored together.

#include "cpu/signals/resampling.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/signal_extension.hpp"
#include "core/threads.hpp"
#include "cpu/signals/polyphase_loops.hpp"
#include "cpu/signals/samples.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// Most results, and about the most samples, of a chunk: they stay in a core's cache.
constexpr index_t chunk_results = 8192;
constexpr index_t chunk_samples = 16384;

template <class Real>
class Polyphase : public PreparedResampling {
    using Complex = std::complex<Real>;

  public:
    Polyphase(const ResampleSpec& spec, const ConstImageView& taps)
        : spec_(spec), lanes_(polyphase_lanes(Real{})), whole_(identity_indices(load_samples)) {
        phases_.padded_taps = round_up(spec.taps_per_phase(), lanes_);
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
    static constexpr index_t load_samples = 4096;  // samples that are converted at a time

    struct Work {
        ResampledSignals signals;
        index_t first_result;
        ImageView results;
        index_t chunk;
    };
    /// Samples that the results of a chunk read: `count` from sample `first` on.
    struct Window {
        index_t first, count;
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

    Window window_of(index_t first_result, index_t count) const {
        const index_t first = spec_.newest_sample(first_result) - phases_.padded_taps + 1;
        return {first, spec_.newest_sample(first_result + count - 1) + 1 - first};
    }

    index_t most_window(index_t results) const {
        return (ceil_div(results, phases_.cycle) + 1) * phases_.samples_per_cycle +
               phases_.padded_taps;
    }

    index_t scratch_bytes(const Work& work) const {
        const index_t samples = most_window(work.chunk);
        return round_up(2 * ScratchArena::room_for<Real>(samples) +
                            2 * ScratchArena::room_for<Real>(work.chunk) +
                            ScratchArena::room_for<Complex>(std::max(samples, work.chunk)),
                        static_cast<index_t>(Buffer::alignment));
    }

    void resample_chunk(const Work& work, index_t row, index_t chunk, ScratchArena scratch) const {
        const ImageView& results = work.results;
        const index_t z = row / results.shape.y, y = row % results.shape.y;
        const index_t begin = chunk * work.chunk;
        const index_t count = std::min(work.chunk, results.shape.x - begin);
        const index_t first = work.first_result + begin;
        const Window window = window_of(first, count);

        const Real* samples[2] = {nullptr, nullptr};
        read(work, z, y, window, scratch, samples);
        const bool is_straight = !spec_.complex_results() && results.strides.x == 1;
        Real* sums[2];
        sums[0] = is_straight ? static_cast<Real*>(results.at(z, y, begin))
                              : scratch.take<Real>(work.chunk);
        const index_t q = first % phases_.cycle;
        sum(real_, q, samples[0], false, sums[0], count);
        if (!spec_.complex_results()) {
            if (!is_straight) store(sums[0], results, z, y, begin, count);
            return;
        }
        sums[1] = scratch.take<Real>(work.chunk);
        if (spec_.complex_taps) {
            sum(imaginary_, q, samples[0], false, sums[1], count);
            if (spec_.complex_data) {
                sum(minus_imaginary_, q, samples[1], true, sums[0], count);
                sum(real_, q, samples[1], true, sums[1], count);
            }
        } else {
            sum(real_, q, samples[1], false, sums[1], count);
        }
        const bool is_contiguous = results.strides.x == 1;
        Complex* const whole = is_contiguous ? static_cast<Complex*>(results.at(z, y, begin))
                                             : scratch.take<Complex>(work.chunk);
        interleave(sums[0], sums[1], whole, count);
        if (!is_contiguous) store(whole, results, z, y, begin, count);
    }

    void sum(const Buffer& table, index_t q, const Real* samples, bool accumulate, Real* out,
             index_t count) const {
        PolyphaseTaps<Real> phases = phases_;
        phases.taps = table.template as<Real>();
        sum_phases(phases, q, samples, accumulate, out, count);
    }

    template <class Sample>
    static void store(const Sample* from, const ImageView& results, index_t z, index_t y,
                      index_t begin, index_t count) {
        auto* const to = static_cast<Sample*>(results.at(z, y, begin));
        for (index_t i = 0; i < count; ++i) to[i * results.strides.x] = from[i];
    }

    // Finds the samples of a window, or loads them, as rows of real and of imaginary parts.
    void read(const Work& work, index_t z, index_t y, const Window& window, ScratchArena& scratch,
              const Real** rows) const {
        const ConstImageView& samples = work.signals.samples;
        const index_t begin = window.first - work.signals.first;
        const bool is_inside = begin >= 0 && begin + window.count <= samples.shape.x;
        if (is_inside && samples.type == pixel_type_of_v<Real> && samples.strides.x == 1) {
            rows[0] = static_cast<const Real*>(samples.at(z, y, begin));
            return;
        }
        Real* const real = scratch.take<Real>(window.count);
        rows[0] = real;
        if (!spec_.complex_data) {
            load(work.signals, z, y, window, real);
            return;
        }
        Real* const imaginary = scratch.take<Real>(window.count);
        rows[1] = imaginary;
        ScratchArena unused_later = scratch;
        const bool is_direct =
            is_inside && samples.type == pixel_type_of_v<Complex> && samples.strides.x == 1;
        const Complex* from = nullptr;
        if (is_direct) {
            from = static_cast<const Complex*>(samples.at(z, y, begin));
        } else {
            auto* const loaded = unused_later.take<Complex>(window.count);
            load(work.signals, z, y, window, loaded);
            from = loaded;
        }
        deinterleave(from, real, imaginary, window.count);
    }

    template <class Sample>
    void load(const ResampledSignals& signals, index_t z, index_t y, const Window& window,
              Sample* out) const {
        const index_t end = signals.first + signals.samples.shape.x;
        const index_t from = std::clamp(signals.first, window.first, window.first + window.count);
        const index_t to = std::clamp(end, from, window.first + window.count);
        for (index_t i = from; i < to; i += load_samples)
            load_inside(signals, z, y, i, std::min(load_samples, to - i), out + (i - window.first));
        const ExtendedSignal<Sample> beyond{spec_.options.extension, value<Sample>(), end};
        const auto at = [&](index_t i) {
            Sample sample{};
            load_inside(signals, z, y, i, 1, &sample);
            return sample;
        };
        // No result reads the samples that fill up vectors, which the signal may not have any more.
        for (index_t i = window.first; i < from; ++i)
            out[i - window.first] = i < window.first + phases_.padding ? Sample{} : beyond(i, at);
        for (index_t i = to; i < window.first + window.count; ++i)
            out[i - window.first] = beyond(i, at);
    }

    template <class Sample>
    Sample value() const {
        if constexpr (is_complex_sample<Sample>)
            return static_cast<Sample>(spec_.options.value);
        else
            return static_cast<Sample>(spec_.options.value.real());
    }

    // Loads at most load_samples samples from sample `first` on, which the signal has.
    template <class Sample>
    void load_inside(const ResampledSignals& signals, index_t z, index_t y, index_t first,
                     index_t count, Sample* out) const {
        ConstImageView part = signals.samples;
        if (first < signals.first || first + count > signals.first + part.shape.x)
            throw InternalError(
                message("samples from ", first, " of a signal from ", signals.first));
        part.data = part.at(z, y, first - signals.first);
        part.shape = {1, 1, count};
        pixels::load_span(part, 0, 0, whole_, {0, count}, {}, out);
    }

    ResampleSpec spec_;
    index_t lanes_;
    pixels::RowGather whole_;
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
