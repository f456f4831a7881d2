// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes along y and z: a block transforms neighboring columns side by side.

#include "gpu/fft/column_job.hpp"
#include "gpu/fft/stages.hpp"

namespace convolume::gpu {

/// Plans of columns that took less time than those that make_plan() chooses, measured on an H200.
inline constexpr Plan measured_column_plans[] = {
    {1056, 3, {2, 22, 24}, 48, 24, 4},
    {1152, 3, {2, 24, 24}, 48, 24, 4},
};

/// How a block of column_pass is shaped.
template <class Real, int N>
struct ColumnShape {
    static constexpr int words = sizeof(Real) / sizeof(float);
    static constexpr int tile = static_cast<int>(tile_columns<Real>);

    /// Columns a block transforms: a tile, less where its registers do not hold one, more of short
    /// columns.
    static constexpr int narrowest = N <= 1024 ? tile : N <= 2048 ? tile / 2 : tile / 4;
    static constexpr Plan value = [] {
        if constexpr (words == 1)
            for (const Plan& plan : measured_column_plans)
                if (plan.n == N) return plan;
        return make_plan(N, {.single = words == 1 ? 32 : 16,
                             .two_elements = words == 2 ? 18
                                             : N > 1024 ? 16
                                                        : 36,
                             .three_elements = words == 1 ? 32 : 18,
                             .max_threads = (N > 1024 ? 800 : 640) / narrowest,
                             .ideal_elements = N > 1024 ? 16 : 1,
                             .element_cost = N > 1024 ? 0.03 : 0.02,
                             .lanes = 32 / words / narrowest});
    }();
    static constexpr int columns = [] {
        int count = narrowest;
        while (value.threads * count < 128) count *= 2;
        return count;
    }();
    static constexpr int threads = value.threads * columns;
    /// Shared memory in bytes: for exchanges and twiddle factors, and for a tile on its way from
    /// device memory.
    static constexpr index_t sample_bytes = 2 * sizeof(Real);
    static constexpr index_t exchange_bytes =
        (sample_bytes / 2 * value.exchange_size() * columns + 15) / 16 * 16;
    static constexpr index_t fixed_bytes =
        (exchange_bytes + sample_bytes * value.twiddle_count() + 15) / 16 * 16;
    static constexpr index_t staging_bytes = sample_bytes * N * columns;
    /// Blocks that a multiprocessor's registers and shared memory (of compute capability 9) hold.
    static constexpr int blocks_per_unit = [] {
        const int registers = 2 * words * value.elements + 44;
        const auto by_memory = static_cast<int>(232448 / (fixed_bytes + staging_bytes));
        const int by_registers = 65536 / (threads * registers);
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
};

/// Samples from slot 0 to `slot`: one instruction, for a stride in tiles.
template <class Real>
CONVOLUME_DEVICE index_t slot_offset(int slot, unsigned stride) {
    return static_cast<index_t>(static_cast<std::uint64_t>(static_cast<unsigned>(slot)) * stride) *
           tile_columns<Real>;
}

/// The body of the kernel for columns of N samples: forward, then, where there is a kernel, times
/// that and back. Each block takes tiles of columns, one after another. With `OfTaps` the kernel is
/// given as its taps, whose spectrum registers keep: a body of its own, lest the others have fewer.
template <class Real, int N, bool OfTaps, class Context>
CONVOLUME_DEVICE void column_pass(const Context& context, const ColumnJob<Real>& job) {
    using Shape = ColumnShape<Real, N>;
    using Fft = Stages<Real, Shape>;
    constexpr int columns = Shape::columns, threads = Shape::threads;
    constexpr int last = Shape::value.last();

    const int column_in_tile = context.thread() % columns;
    char* const memory = context.shared();
    const SplitLane<Real, Context> lane{context, reinterpret_cast<Real*>(memory) + column_in_tile,
                                        columns};
    auto* const twiddles = reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes);
    auto* const staging = reinterpret_cast<Complex<Real>*>(memory + Shape::fixed_bytes);
    Complex<Real>* const taps_staging = staging + N * columns;
    copy_table(context, twiddles, job.twiddles, Shape::value.twiddle_count(), threads);
    context.sync();

    const index_t tiles_per_batch = (job.columns + columns - 1) / columns;
    const index_t tiles = tiles_per_batch * job.batches;

    struct Place {
        index_t batch, column;  // of the tile's first column
    };
    const auto place_of = [&](index_t tile) {
        const index_t batch = job.batches == 1 ? 0 : tile / tiles_per_batch;
        return Place{batch, (tile - batch * tiles_per_batch) * columns};
    };
    // Copies `count` positions of a tile to shared memory, 16 bytes at a time. `from` is the tile's
    // first column in slot 0; slot_of says which slot a position has.
    const auto stage = [&](const Place& place, Complex<Real>* to, int count,
                           const Complex<Real>* from, unsigned stride, const auto& slot_of) {
        constexpr int width = 16 / sizeof(Complex<Real>), copies = columns / width;
        constexpr int step = threads / copies;
        const int column = context.thread() % copies * width;
        if (context.thread() >= step * copies) return;
        const bool inside = place.column + column < job.columns;
        CONVOLUME_UNROLL_4
        for (int position = context.thread() / copies; position < count; position += step) {
            const int slot = slot_of(position);
            context.copy_or_zeros_async(to + position * columns + column,
                                        from + slot_offset<Real>(slot, stride) + column,
                                        inside && slot >= 0);
        }
    };
    const auto stage_source = [&](index_t tile) {
        if (!job.staged || tile >= tiles) return;
        const Place place = place_of(tile);
        const Complex<Real>* const source =
            job.source + place.batch * job.source_batch + place.column;
        stage(place, staging, N, source, job.source_slot, job.load);
    };
    // Spectra take the place of the source, taps have one of their own.
    const auto stage_kernel = [&](index_t tile, Complex<Real>* to, int count) {
        const Place place = place_of(tile);
        stage(place, to, count, job.kernel + place.column, job.kernel_slot,
              [](int slot) { return slot; });
    };
    // Taps come first, in a group of their own.
    const auto stage_taps_and_source = [&](index_t tile) {
        if (job.taps_staged && tile < tiles) stage_kernel(tile, taps_staging, job.taps);
        context.end_copy_group();
        stage_source(tile);
        context.end_copy_group();
    };

    index_t tile = context.block();
    if constexpr (OfTaps)
        stage_taps_and_source(tile);
    else
        stage_source(tile);
    for (; tile < tiles; tile += context.blocks()) {
        const Place place = place_of(tile);
        const index_t next = tile + context.blocks();
        const index_t column = place.column + column_in_tile;
        const bool inside = column < job.columns;
        // Forgotten in between, lest the compiler keeps the addresses of all samples in registers.
        const int thread = context.forget(context.thread() / columns);
        typename Fft::Held v;

        const auto load_staged = [&](const Complex<Real>* from, const auto& is_there) {
            context.sync();
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                v[sample] = {0, 0};
                if (is_there(position)) v[sample] = from[position * columns + column_in_tile];
            });
            context.sync();
        };
        const auto load = [&](const Complex<Real>* from, unsigned stride, const auto& slot_of) {
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                const int slot = slot_of(position);
                v[sample] = {0, 0};
                if (inside && slot >= 0) v[sample] = from[slot_offset<Real>(slot, stride)];
            });
        };
        const auto load_taps = [&] {
            if (job.taps_staged) {
                context.wait_copies_but_last_group();
                load_staged(taps_staging, [&](int position) { return position < job.taps; });
            } else {
                load(job.kernel + column, job.kernel_slot,
                     [&](int position) { return position < job.taps ? position : -1; });
            }
        };
        const auto load_source = [&] {
            if (job.staged) {
                context.wait_copies();
                load_staged(staging, [](int) { return true; });
            } else {
                load(job.source + place.batch * job.source_batch + column, job.source_slot,
                     job.load);
            }
            Fft::template for_each<0>(thread,
                                      [&](int sample, int) { v[sample].im *= job.load_sign; });
        };

        [[maybe_unused]] typename Fft::Held spectrum;  // of the kernel
        if constexpr (OfTaps) {
            // One after the other by the same instructions: twice as many are slower to load.
            CONVOLUME_NO_UNROLL
            for (bool taps = true;; taps = false) {
                if (taps) {
                    load_taps();
                } else {
                    load_source();
                    stage_taps_and_source(next);
                }
                Fft::forward(lane, thread, v, twiddles);
                if (!taps) break;
                Fft::template for_each<last>(thread, [&](int sample, int) {
                    spectrum[sample] = {v[sample].re, job.kernel_sign * v[sample].im};
                });
            }
        } else {
            load_source();
            if (job.kernel == nullptr)
                stage_source(next);
            else if (job.staged)
                stage_kernel(tile, staging, N);
            Fft::forward(lane, thread, v, twiddles);
        }

        Complex<Real>* target = job.target + place.batch * job.target_batch + column;
        const auto store = [&](int sample, int position) {
            const int slot = job.store(position);
            if (inside && slot >= 0) {
                target[slot_offset<Real>(slot, job.target_slot)] = {v[sample].re,
                                                                    v[sample].im * job.store_sign};
            }
        };

        const auto times = [&](int sample, const Complex<Real>& factor) {
            v[sample] = conjugate(v[sample] * factor);
        };
        if constexpr (OfTaps) {
            Fft::template for_each<last>(thread,
                                         [&](int sample, int) { times(sample, spectrum[sample]); });
        } else if (job.kernel == nullptr) {
            Fft::template for_each<last>(thread, store);
            continue;
        } else if (job.staged) {
            context.wait_copies();
            context.sync();
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k = staging[frequency * columns + column_in_tile];
                times(sample, {k.re, job.kernel_sign * k.im});
            });
            context.sync();
            stage_source(next);
        } else if (inside) {
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k = context.load(
                    job.kernel + slot_offset<Real>(frequency, job.kernel_slot) + column);
                times(sample, {k.re, job.kernel_sign * k.im});
            });
        }
        Fft::back(lane, thread, v, twiddles);
        Fft::template for_each<0>(thread, store);
    }
}

}  // namespace convolume::gpu
