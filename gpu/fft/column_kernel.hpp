// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes along y and z: a block transforms neighboring columns side by side.

#include "gpu/fft/column_job.hpp"
#include "gpu/fft/stages.hpp"

namespace convolume::gpu {

/// How a block of column_pass is shaped.
template <class Real, int N>
struct ColumnShape {
    static constexpr int words = sizeof(Real) / sizeof(float);
    static constexpr int tile = static_cast<int>(tile_columns<Real>);

    /// Columns a block transforms: a tile, less where its registers do not hold one, more of short
    /// columns.
    static constexpr int narrowest = N <= 1024 ? tile : N <= 2048 ? tile / 2 : tile / 4;
    static constexpr Plan value = make_plan(N, {.single = words == 1 ? 32 : 16,
                                                .two_elements = words == 2 ? 18
                                                                : N > 1024 ? 16
                                                                           : 36,
                                                .three_elements = words == 1 ? 32 : 18,
                                                .max_threads = (N > 1024 ? 800 : 640) / narrowest,
                                                .ideal_elements = N > 1024 ? 16 : 1,
                                                .element_cost = N > 1024 ? 0.03 : 0.02,
                                                .lanes = 32 / words / narrowest});
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
/// that and back. Each block takes tiles of columns, one after another.
template <class Real, int N, class Context>
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
    // Copies a tile into `staging`, in the order of positions, 16 bytes at a time. `from` is the
    // tile's first column in slot 0; slot_of says which slot a position has.
    const auto stage = [&](const Place& place, const Complex<Real>* from, unsigned stride,
                           const auto& slot_of) {
        constexpr int width = 16 / sizeof(Complex<Real>), copies = columns / width;
        constexpr int step = threads / copies;
        const int column = context.thread() % copies * width;
        if (context.thread() >= step * copies) return;
        const bool inside = place.column + column < job.columns;
        CONVOLUME_UNROLL_4
        for (int position = context.thread() / copies; position < N; position += step) {
            const int slot = slot_of(position);
            context.copy_or_zeros_async(staging + position * columns + column,
                                        from + slot_offset<Real>(slot, stride) + column,
                                        inside && slot >= 0);
        }
    };
    const auto stage_source = [&](index_t tile) {
        const Place place = place_of(tile);
        stage(place, job.source + place.batch * job.source_batch + place.column, job.source_slot,
              job.load);
    };
    const auto staged = [&](int position) { return staging[position * columns + column_in_tile]; };

    index_t tile = context.block();
    if (job.staged && tile < tiles) stage_source(tile);
    for (; tile < tiles; tile += context.blocks()) {
        const Place place = place_of(tile);
        const index_t next = tile + context.blocks();
        const index_t column = place.column + column_in_tile;
        const bool inside = column < job.columns;
        // Forgotten in between, lest the compiler keeps the addresses of all samples in registers.
        const int thread = context.forget(context.thread() / columns);
        typename Fft::Held v;

        if (job.staged) {
            context.wait_copies();
            context.sync();
            Fft::template for_each<0>(
                thread, [&](int sample, int position) { v[sample] = staged(position); });
            context.sync();
        } else {
            const Complex<Real>* source = job.source + place.batch * job.source_batch + column;
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                const int slot = job.load(position);
                v[sample] = {0, 0};
                if (inside && slot >= 0)
                    v[sample] = source[slot_offset<Real>(slot, job.source_slot)];
            });
        }
        Fft::template for_each<0>(thread, [&](int sample, int) { v[sample].im *= job.load_sign; });

        Complex<Real>* target = job.target + place.batch * job.target_batch + column;
        const auto store = [&](int sample, int position) {
            const int slot = job.store(position);
            if (inside && slot >= 0) {
                target[slot_offset<Real>(slot, job.target_slot)] = {v[sample].re,
                                                                    v[sample].im * job.store_sign};
            }
        };

        if (job.kernel == nullptr) {
            if (job.staged && next < tiles) stage_source(next);
            Fft::forward(lane, thread, v, twiddles);
            Fft::template for_each<last>(thread, store);
            continue;
        }
        const Complex<Real>* kernel = job.kernel + place.column;
        if (job.staged) stage(place, kernel, job.kernel_slot, [](int k) { return k; });
        Fft::forward(lane, thread, v, twiddles);
        if (job.staged) {
            context.wait_copies();
            context.sync();
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k = staged(frequency);
                v[sample] = conjugate(v[sample] * Complex<Real>{k.re, job.kernel_sign * k.im});
            });
            context.sync();
            if (next < tiles) stage_source(next);
        } else if (inside) {
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k = context.load(
                    kernel + slot_offset<Real>(frequency, job.kernel_slot) + column_in_tile);
                v[sample] = conjugate(v[sample] * Complex<Real>{k.re, job.kernel_sign * k.im});
            });
        }
        Fft::back(lane, thread, v, twiddles);
        Fft::template for_each<0>(thread, store);
    }
}

}  // namespace convolume::gpu
