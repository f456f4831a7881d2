// SPDX-License-Identifier: Apache-2.0
#pragma once
// The body of the CUDA kernel for resampling. Shared memory holds the samples that a thread block
// reads and, if they fit, the taps of a cycle of results. A thread sums results of equal phase, so
// that it reads each tap once for all of them.

#include "convolume/cuda/detail/complex.hpp"
#include "core/resample_spec.hpp"
#include "core/signal_extension.hpp"

namespace convolume::gpu {

/// How thread blocks divide the results of a signal, and what they keep in shared memory.
struct PhaseShape {
    static constexpr int threads = 256;
    int rows = 1;              ///< results of a thread at a time, `columns` apart: 1 or 4
    bool has_tile = true;      ///< whether shared memory has the samples
    bool has_taps = true;      ///< whether shared memory has the taps
    bool is_padded = false;    ///< whether every 33rd place of the tile is empty
    int columns = threads;     ///< a multiple of the cycle if there are several rows
    index_t tile = 0;          ///< samples in shared memory
    index_t tile_bytes = 0;    ///< bytes of the tile, with padding
    index_t shared_bytes = 0;  ///< bytes of tile and taps

    index_t block_results() const { return static_cast<index_t>(rows) * columns; }
    CONVOLUME_CONSTEXPR static index_t padded(index_t place) { return place + (place >> 5); }
};

/// Returns the shape for samples and taps of these sizes in at most `limit` bytes of shared memory.
inline PhaseShape phase_shape(const ResampleSpec& spec, index_t sample_bytes, index_t tap_bytes,
                              index_t limit) {
    const index_t cycle = spec.cycle(), tap_table = spec.taps_per_phase() * cycle * tap_bytes;
    PhaseShape shape;
    // Neighboring threads read neighboring samples, or samples that lie in different banks.
    shape.is_padded = spec.samples_per_cycle() > cycle;
    const auto fits = [&](int rows, index_t columns, bool has_taps) {
        // Samples are counted in 32 bits.
        if (columns > (1 << 20) || rows * columns * spec.options.down > (index_t{1} << 30))
            return false;
        shape.rows = rows;
        shape.columns = static_cast<int>(columns);
        shape.has_taps = has_taps;
        shape.tile =
            (spec.options.up - 1 + (rows * columns - 1) * spec.options.down) / spec.options.up +
            spec.taps_per_phase();
        const index_t places = shape.is_padded ? PhaseShape::padded(shape.tile) + 1 : shape.tile;
        shape.tile_bytes = round_up(places * sample_bytes, 16);
        shape.shared_bytes = shape.tile_bytes + (has_taps ? tap_table : 0);
        return shape.shared_bytes <= limit;
    };
    if (fits(4, cycle * std::max<index_t>(1, 1024 / cycle), true)) return shape;
    if (fits(4, cycle * ceil_div(PhaseShape::threads, cycle), true)) return shape;
    for (const bool has_taps : {true, false})
        for (index_t columns = 1024; columns >= 64; columns /= 2)
            if (fits(1, columns, has_taps)) return shape;
    shape = {};
    shape.has_tile = shape.has_taps = false;
    return shape;
}

/// The arguments of the CUDA kernel.
template <class Sample, class Tap>
struct PhaseJob {
    const Sample* source = nullptr;  ///< samples of signal after signal
    const Tap* taps = nullptr;       ///< taps [tap of a phase][result of the cycle]
    Sample* target = nullptr;        ///< results of signal after signal
    index_t results = 0;             ///< results of each signal
    index_t blocks_per_signal = 1;
    index_t up = 1, down = 1, origin = 0;
    index_t tile_bytes = 0;
    int taps_per_phase = 1;
    int cycle = 1, samples_per_cycle = 1;
    int columns = 1;
    ExtendedSignal<Sample> signal;
};

/// Returns sample i of a signal, which may lie beyond its ends.
template <class Sample, class Tap, class Context>
CONVOLUME_DEVICE Sample sample_at(const Context& context, const PhaseJob<Sample, Tap>& job,
                                  const Sample* source, index_t i) {
    const auto at = [&](index_t k) { return context.load(source + k); };
    return i >= 0 && i < job.signal.count ? at(i) : job.signal(i, at);
}

/// Place of a thread block: its first result, and the samples and the phase of that result.
struct PhaseBlock {
    index_t signal, first_result, newest, phase;
};
template <class Sample, class Tap, class Context>
CONVOLUME_DEVICE PhaseBlock phase_block(const Context& context, const PhaseJob<Sample, Tap>& job,
                                        int rows) {
    const index_t signal = context.block() / job.blocks_per_signal;
    const index_t first = (context.block() - signal * job.blocks_per_signal) * rows * job.columns;
    const index_t place = first * job.down + job.origin;
    const index_t newest = place / job.up;
    return {signal, first, newest, place - newest * job.up};
}

/// Sums results whose samples, and perhaps taps, are read from global memory.
template <class Sample, class Tap, class Context>
CONVOLUME_DEVICE void sum_phases_without_tile(const Context& context,
                                              const PhaseJob<Sample, Tap>& job) {
    const PhaseBlock block = phase_block(context, job, 1);
    const Sample* const source = job.source + block.signal * job.signal.count;
    for (int w = context.thread(); w < job.columns; w += PhaseShape::threads) {
        const index_t n = block.first_result + w;
        if (n >= job.results) return;
        const index_t newest = block.newest + (block.phase + w * job.down) / job.up;
        const index_t q = n % job.cycle;
        Sample sum{};
        for (int j = 0; j < job.taps_per_phase; ++j)
            multiply_add(sum, context.load(job.taps + static_cast<index_t>(j) * job.cycle + q),
                         sample_at(context, job, source, newest - j));
        context.store(job.target + block.signal * job.results + n, sum);
    }
}

/// Copies the samples that a thread block reads to shared memory, and returns when all are there.
template <int rows, bool is_padded, class Sample, class Tap, class Context>
CONVOLUME_DEVICE void load_tile(const Context& context, const PhaseJob<Sample, Tap>& job,
                                const PhaseBlock& block, Sample* tile) {
    const index_t oldest = block.newest - job.taps_per_phase + 1;
    const index_t most = static_cast<index_t>(rows) * job.columns;
    const index_t left = job.results - block.first_result;
    const index_t results = left < most ? left : most;
    const int count =
        static_cast<int>((block.phase + (results - 1) * job.down) / job.up) + job.taps_per_phase;
    const Sample* const source = job.source + block.signal * job.signal.count;
    const auto place = [](int k) { return is_padded ? k + (k >> 5) : k; };
    if (oldest >= 0 && oldest + count <= job.signal.count) {
        for (int k = context.thread(); k < count; k += PhaseShape::threads)
            tile[place(k)] = context.load(source + oldest + k);
    } else {
        for (int k = context.thread(); k < count; k += PhaseShape::threads)
            tile[place(k)] = sample_at(context, job, source, oldest + k);
    }
}

/// Sums results whose samples, and with `has_taps` the taps, are in shared memory.
template <int rows, bool has_taps, bool is_padded, class Sample, class Tap, class Context>
CONVOLUME_DEVICE void sum_phases_of_tile(const Context& context, const PhaseJob<Sample, Tap>& job) {
    char* const memory = context.shared();
    auto* const tile = reinterpret_cast<Sample*>(memory);
    auto* const shared_taps = reinterpret_cast<Tap*>(memory + job.tile_bytes);
    const PhaseBlock block = phase_block(context, job, rows);
    load_tile<rows, is_padded>(context, job, block, tile);
    if constexpr (has_taps)
        for (int i = context.thread(); i < job.taps_per_phase * job.cycle; i += PhaseShape::threads)
            shared_taps[i] = context.load(job.taps + i);
    context.sync();

    const auto place = [](int k) { return is_padded ? k + (k >> 5) : k; };
    const int first_q = static_cast<int>(block.first_result % job.cycle);
    const int row_samples = job.columns / job.cycle * job.samples_per_cycle;
    const auto up = static_cast<unsigned>(job.up), down = static_cast<unsigned>(job.down);
    for (int w = context.thread(); w < job.columns; w += PhaseShape::threads) {
        // The tile's place of the newest sample of the first result.
        const int newest =
            static_cast<int>(
                (static_cast<unsigned>(block.phase) + static_cast<unsigned>(w) * down) / up) +
            job.taps_per_phase - 1;
        int tap = (first_q + w) % job.cycle;
        Sample sums[static_cast<unsigned>(rows)] = {};
        CONVOLUME_UNROLL_4
        for (int j = 0; j < job.taps_per_phase; ++j) {
            Tap h;
            if constexpr (has_taps)
                h = shared_taps[tap];
            else
                h = context.load(job.taps + tap);
            tap += job.cycle;
            CONVOLUME_UNROLL
            for (int r = 0; r < rows; ++r)
                multiply_add(sums[r], h, tile[place(newest - j + r * row_samples)]);
        }
        Sample* const target = job.target + block.signal * job.results;
        CONVOLUME_UNROLL
        for (int r = 0; r < rows; ++r) {
            const index_t n = block.first_result + w + static_cast<index_t>(r) * job.columns;
            if (n < job.results) context.store(target + n, sums[r]);
        }
    }
}

}  // namespace convolume::gpu
