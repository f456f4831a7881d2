// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bodies of the CUDA kernels that put signals together from frames that cuFFT has transformed
// back. A thread computes several samples that use the same taps, so that a tap in a register
// serves all of them. Every sample is the sum of its terms in a fixed order, without atomics.

#include <cstdint>

#include "convolume/cuda/detail/segment_transform.hpp"

namespace convolume::gpu {

/// Arguments of the CUDA kernels. Samples and frames are numbered as in core/channel_spec.hpp.
/// Row n of a signal is the inverse transform of frame n, of real or complex samples.
template <class Real>
struct SynthesisJob {
    const void* rows = nullptr;            ///< row `rows_begin` of the first signal
    index_t row = 0;                       ///< elements from one row to the next
    index_t signal_rows = 0;               ///< rows from one signal to the next
    index_t rows_begin = 0, rows_end = 0;  ///< rows in memory; others are zero
    const Real* taps = nullptr;            ///< taps() taps, forward
    void* target = nullptr;                ///< sample 0 of the first signal
    index_t target_stride = 0;             ///< samples from one signal to the next
    index_t begin = 0, end = 0;            ///< samples to compute
    index_t blocks = 0;                    ///< thread blocks of each signal
    index_t first = 0;                     ///< last sample that frame 0 depends on
    int channels = 0, step = 0, terms = 0;
    bool slides = false;  ///< see SynthesisPattern
    bool complex_data = true;

    CONVOLUME_DEVICE index_t tap_count() const { return static_cast<index_t>(channels) * terms; }
};

/// Samples that a thread computes.
struct SynthesisPattern {
    static constexpr int threads = 256;  ///< threads of a thread block

    bool slides = false;  ///< the samples of a thread have one phase
    index_t spacing = 0;  ///< from one sample of a thread to the next
    int outputs = 0;      ///< number of samples of a thread

    /// Returns the number of thread blocks for `count` samples.
    index_t blocks(index_t count) const {
        return ceil_div(checked_multiply(ceil_div(count, spacing * outputs), spacing),
                        index_t{threads});
    }
};

/// Numbers of samples of a thread, with one phase and with several.
template <class Real>
struct SynthesisShape {
    static constexpr int sliding = sizeof(Real) == 4 ? 16 : 8;
    static constexpr int stepping = 8;
};

/// Returns the greatest common divisor of two positive numbers.
CONVOLUME_DEVICE int common_divisor(int a, int b) {
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/// Returns a / b of numbers that are not negative, rounded down. 64-bit divisions take four times
/// as long as those of 32 bits on a GPU.
CONVOLUME_DEVICE index_t quotient(index_t a, index_t b) {
    if (((a | b) >> 32) == 0)
        return static_cast<index_t>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
    return a / b;
}

/// Returns the pattern for M channels, steps of D samples and P taps per channel. Samples that are
/// the least common multiple of M and D apart have equal taps and phases. If several taps of a
/// sample are as far apart, a transformed frame in a register serves several samples.
template <class Real>
SynthesisPattern synthesis_pattern(int channels, int step, int terms) {
    const int common = common_divisor(channels, step);
    if (2 * (step / common) <= terms || step == common)
        return {true, static_cast<index_t>(step / common) * channels,
                SynthesisShape<Real>::sliding};
    return {false, step, SynthesisShape<Real>::stepping};
}

/// Reads the samples of one phase in rows that are `cycle` apart. `inside`: all of them are in
/// memory.
template <bool inside, class Sample, class Real, class Context>
class RowReader {
  public:
    /// `rows` is row job.rows_begin at the phase; row n is read first.
    CONVOLUME_DEVICE RowReader(const Context& context, const SynthesisJob<Real>& job,
                               const Sample* rows, index_t n, int cycle)
        : context_(context), job_(job), rows_(rows), n_(n), cycle_(cycle) {
        if constexpr (inside) {
            stride_ = cycle * job.row;
            rows_ += (n - job.rows_begin) * job.row;
        }
    }
    /// Returns the sample of the next row.
    CONVOLUME_DEVICE Sample read() {
        Sample sample{};
        if constexpr (inside) {
            sample = context_.load_once(rows_);
            rows_ += stride_;
        } else {
            if (n_ >= job_.rows_begin && n_ < job_.rows_end)
                sample = context_.load_once(rows_ + (n_ - job_.rows_begin) * job_.row);
            n_ += cycle_;
        }
        return sample;
    }

  private:
    const Context& context_;
    const SynthesisJob<Real>& job_;
    const Sample* rows_;
    index_t n_, stride_ = 0;
    int cycle_;
};

/// Adds `terms` terms to the sums of samples t, t + L, …, where L is the least common multiple of
/// channels and step. Row n of a sample is row n + cycle of the next one. The taps are L apart.
/// Samples are loaded a few terms at a time, so that their loads do not wait for each other.
template <int Outputs, class Sample, class Real, class Context, class Reader>
CONVOLUME_DEVICE void add_sliding_terms(const Context& context, Reader& reader, const Real* taps,
                                        index_t spacing, int terms, Sample* sums) {
    constexpr int at_once = 4;
    static_assert(Outputs % at_once == 0);
    Sample held[static_cast<unsigned>(Outputs)];
    unroll<Outputs - 1>([&](auto i) { held[i] = reader.read(); });
    CONVOLUME_NO_UNROLL
    for (int begin = 0; begin < terms; begin += Outputs)
        unroll<Outputs / at_once>([&](auto g) {
            // Output i needs sample base + u + i at term base + u. Slot k modulo Outputs of `held`
            // has sample k, for the Outputs - 1 samples from `base` on; `fresh` has later ones.
            constexpr int base = decltype(g)::value * at_once;
            Sample fresh[static_cast<unsigned>(at_once)];
            Real tap[static_cast<unsigned>(at_once)];
            const auto load = [&](auto u) {
                fresh[u] = reader.read();
                tap[u] = context.load(taps);
                taps += spacing;
            };
            const auto add = [&](auto u) {
                unroll<Outputs>([&](auto i) {
                    constexpr int from = decltype(u)::value + decltype(i)::value;
                    if constexpr (from < Outputs - 1)
                        multiply_add(sums[i], tap[u], held[(base + from) % Outputs]);
                    else
                        multiply_add(sums[i], tap[u], fresh[from - (Outputs - 1)]);
                });
            };
            const int left = terms - begin - base;
            if (left >= at_once) {
                unroll<at_once>(load);
                unroll<at_once>(add);
                unroll<at_once>([&](auto u) {
                    held[(base + decltype(u)::value + Outputs - 1) % Outputs] = fresh[u];
                });
            } else if (left > 0) {
                unroll<at_once - 1>([&](auto u) {
                    if (u < left) load(u);
                });
                unroll<at_once - 1>([&](auto u) {
                    if (u < left) add(u);
                });
            }
        });
}

/// Sums the terms of samples t, t + L, …: for each of `cycle` rows from n0 on, those that are L
/// apart. Row n0 is the first that sample t depends on, at tap l0.
template <int Outputs, bool inside, class Sample, class Real, class Context>
CONVOLUME_DEVICE void sum_sliding(const Context& context, const SynthesisJob<Real>& job,
                                  const Sample* rows, index_t n0, index_t l0, int cycle,
                                  Sample* sums) {
    const index_t taps = job.tap_count(), spacing = static_cast<index_t>(cycle) * job.step;
    CONVOLUME_NO_UNROLL
    for (int s = 0; s < cycle; ++s) {
        const index_t l = l0 + static_cast<index_t>(s) * job.step;
        if (l >= taps) break;
        const int terms = static_cast<int>(quotient(taps - l + spacing - 1, spacing));
        RowReader<inside, Sample, Real, Context> reader(context, job, rows, n0 + s, cycle);
        add_sliding_terms<Outputs>(context, reader, job.taps + l, spacing, terms, sums);
    }
}

/// Sums the terms of samples t, t + D, …, which have equal taps. Row n of a sample is row n + 1 of
/// the next one, at another phase; `phase` is that of sample t.
template <int Outputs, bool inside, class Sample, class Real, class Context>
CONVOLUME_DEVICE void sum_stepping(const Context& context, const SynthesisJob<Real>& job,
                                   const Sample* rows, index_t n0, index_t l0, int phase,
                                   Sample* sums) {
    // Elements from the row of sample t at phase 0. Rows have at most 2^26 + 2 elements.
    int places[static_cast<unsigned>(Outputs)];
    unroll<Outputs>([&](auto i) {
        places[i] = decltype(i)::value * static_cast<int>(job.row) + phase;
        phase =
            phase < job.channels - job.step ? phase + job.step : phase + job.step - job.channels;
    });
    const index_t taps = job.tap_count();
    index_t n = n0;
    CONVOLUME_UNROLL_4
    for (index_t l = l0; l < taps; l += job.step, ++n) {
        const Real tap = context.load(job.taps + l);
        const index_t row = (n - job.rows_begin) * job.row;
        unroll<Outputs>([&](auto i) {
            const index_t at = n + decltype(i)::value;
            if (inside || (at >= job.rows_begin && at < job.rows_end))
                multiply_add(sums[i], tap, context.load(rows + (row + places[i])));
        });
    }
}

/// Computes and stores the samples of a thread.
template <bool slides, class Sample, class Real, class Context>
CONVOLUME_DEVICE void join_samples(const Context& context, const SynthesisJob<Real>& job) {
    constexpr int outputs = slides ? SynthesisShape<Real>::sliding : SynthesisShape<Real>::stepping;
    const int cycle = slides ? job.channels / common_divisor(job.channels, job.step) : 1;
    const index_t spacing = static_cast<index_t>(cycle) * job.step;
    const index_t signal = quotient(context.block(), job.blocks);
    const index_t place =
        (context.block() - signal * job.blocks) * SynthesisPattern::threads + context.thread();
    const index_t group = quotient(place, spacing);
    const index_t t = job.begin + group * spacing * outputs + (place - group * spacing);
    if (t >= job.end) return;

    // The first row whose last sample is not before t. Rows before row 0 are zero.
    const index_t from = t - job.first;
    const index_t n0 =
        from > 0 ? quotient(from + job.step - 1, job.step) : -quotient(-from, job.step);
    const index_t l0 = n0 * job.step - from;
    const index_t last_row = n0 + quotient(job.tap_count() - 1 - l0, job.step) +
                             static_cast<index_t>(cycle) * (outputs - 1);
    const bool inside = n0 >= job.rows_begin && last_row < job.rows_end;
    const int phase = static_cast<int>(t - quotient(t, job.channels) * job.channels);
    const auto* const rows =
        static_cast<const Sample*>(job.rows) + signal * job.signal_rows * job.row;
    Sample sums[static_cast<unsigned>(outputs)];
    unroll<outputs>([&](auto i) { sums[i] = {}; });
    if constexpr (slides) {
        if (inside)
            sum_sliding<outputs, true>(context, job, rows + phase, n0, l0, cycle, sums);
        else
            sum_sliding<outputs, false>(context, job, rows + phase, n0, l0, cycle, sums);
    } else {
        if (inside)
            sum_stepping<outputs, true>(context, job, rows, n0, l0, phase, sums);
        else
            sum_stepping<outputs, false>(context, job, rows, n0, l0, phase, sums);
    }
    auto* const target = static_cast<Sample*>(job.target) + signal * job.target_stride;
    unroll<outputs>([&](auto i) {
        const index_t at = t + decltype(i)::value * spacing;
        if (at < job.end) context.store(target + at, sums[i]);
    });
}

/// The body of the CUDA kernel that puts signals together from rows.
template <bool slides, bool complex_data, class Real, class Context>
CONVOLUME_DEVICE void join_frames(const Context& context, const SynthesisJob<Real>& job) {
    if constexpr (complex_data)
        join_samples<slides, Complex<Real>>(context, job);
    else
        join_samples<slides, Real>(context, job);
}

/// Arguments of the CUDA kernel that copies frames of real signals for the inverse transform.
template <class Real>
struct FrameCopyJob {
    const Complex<Real>* frames = nullptr;
    Complex<Real>* copies = nullptr;
    index_t values = 0;  ///< number of values of all frames
    int channels = 0;    ///< of which channels / 2 + 1 are stored
};

/// The body of the CUDA kernel that copies frames. The channels 0 and M/2 of a real signal are
/// real: their imaginary parts become zero.
template <class Real, class Context>
CONVOLUME_DEVICE void copy_frames(const Context& context, const FrameCopyJob<Real>& job) {
    const index_t i = context.block() * index_t{SynthesisPattern::threads} + context.thread();
    if (i >= job.values) return;
    const int channel = static_cast<int>(i % (job.channels / 2 + 1));
    Complex<Real> value = context.load_once(job.frames + i);
    if (channel == 0 || 2 * channel == job.channels) value.im = 0;
    job.copies[i] = value;
}

}  // namespace convolume::gpu
