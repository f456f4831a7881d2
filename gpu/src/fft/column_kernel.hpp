#pragma once
// The passes along y and z: a block transforms neighbouring columns side by side.

#include "fft/column_job.hpp"
#include "fft/stages.hpp"

namespace convolume::gpu {

/// How a block of column_pass is shaped.
template <class Real, int N>
struct ColumnShape {
    static constexpr int words = sizeof(Real) / sizeof(float);
    static constexpr int tile = static_cast<int>(tile_columns<Real>);

    /// Columns a block transforms: a tile, less where its registers do not hold one, more of short
    /// columns.
    static constexpr int narrowest = N <= 1152 ? tile : N <= 2048 ? tile / 2 : tile / 4;
    static constexpr Plan value = make_plan(N, {.single = words == 1 ? 32 : 16,
                                                .two_elements = words == 1 ? 36 : 18,
                                                .three_elements = words == 1 ? 32 : 18,
                                                .max_threads = (N > 2048 ? 800 : 640) / narrowest,
                                                .lanes = 32 / words / narrowest});
    static constexpr int columns = [] {
        int count = narrowest;
        while (value.threads * count < 128) count *= 2;
        return count;
    }();
    static constexpr int threads = value.threads * columns;
    static constexpr int registers = 2 * words * value.elements + 64;
    static constexpr int blocks_per_unit = [] {
        const int blocks = 65536 / (threads * registers);
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
    /// Shared memory in bytes: for exchanges, and for the samples on their way from device memory.
    static constexpr index_t exchange_bytes =
        static_cast<index_t>(sizeof(Real)) * value.exchange_size() * columns / 16 * 16 + 16;
    static constexpr index_t staging_bytes =
        static_cast<index_t>(2 * sizeof(Real)) * value.elements * threads;
};

/// The body of the kernel for columns of N samples: forward, then, where there is a kernel, times
/// that and back. Each block takes tiles of columns in turn.
template <class Real, int N, class Context>
CONVOLUME_DEVICE void column_pass(const Context& context, const ColumnJob<Real>& job) {
    using Shape = ColumnShape<Real, N>;
    using Fft = Stages<Real, Shape>;
    constexpr int columns = Shape::columns, threads = Shape::threads;
    constexpr int last = Shape::value.last();

    const int column_in_tile = context.thread() % columns;
    const int thread = context.thread() / columns;
    char* const memory = context.shared();
    const SplitLane<Real, Context> lane{context, reinterpret_cast<Real*>(memory) + column_in_tile,
                                        columns};
    // Staged samples travel 16 bytes at a time, so that threads of one column, or of two
    // neighbouring ones, copy for each other: they are of one warp, and need no barrier.
    constexpr int width = 16 / sizeof(Complex<Real>);
    const int which = column_in_tile % width;
    Complex<Real>* const staging =
        reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes) + context.thread();
    const index_t tiles_per_batch = (job.columns + columns - 1) / columns;
    const index_t tiles = tiles_per_batch * job.batches;

    struct Place {
        index_t batch, column;
        bool inside;
    };
    const auto place_of = [&](index_t tile) {
        const index_t batch = job.batches == 1 ? 0 : tile / tiles_per_batch;
        const index_t column = (tile - batch * tiles_per_batch) * columns + column_in_tile;
        return Place{batch, column, column < job.columns};
    };
    // `from` is this thread's column in slot 0, of which slot_of says which slot a position has.
    const auto stage = [&](auto of_stage, const Place& place, const Complex<Real>* from,
                           index_t stride, const auto& slot_of) {
        context.sync_warp();
        Fft::template for_each_shared<of_stage, width>(
            thread, which, [&](int sample, int position) {
                const int slot = slot_of(position);
                Complex<Real>* const to = staging + sample * threads - which;
                if (place.inside && slot >= 0) {
                    context.copy_async(to, from + slot * stride - which);
                } else {
                    for (int i = 0; i < width; ++i) to[i] = {0, 0};
                }
            });
    };
    const auto stage_source = [&](index_t tile) {
        const Place place = place_of(tile);
        stage(Constant<0>{}, place, job.source + place.batch * job.source_batch + place.column,
              job.source_slot, job.load);
    };

    index_t tile = context.block();
    if (job.staged && tile < tiles) stage_source(tile);
    for (; tile < tiles; tile += context.blocks()) {
        const Place place = place_of(tile);
        const index_t next = tile + context.blocks();
        typename Fft::Held v;

        if (job.staged) {
            context.wait_copies();
            Fft::template for_each<0>(
                thread, [&](auto sample, int) { v[sample] = staging[sample * threads]; });
        } else {
            const Complex<Real>* source =
                job.source + place.batch * job.source_batch + place.column;
            Fft::template for_each<0>(thread, [&](auto sample, int position) {
                const int slot = job.load(position);
                v[sample] = {0, 0};
                if (place.inside && slot >= 0) v[sample] = source[slot * job.source_slot];
            });
        }
        Fft::template for_each<0>(thread, [&](auto sample, int) { v[sample].im *= job.load_sign; });

        Complex<Real>* target = job.target + place.batch * job.target_batch + place.column;
        const auto store = [&](auto sample, int position) {
            const int slot = job.store(position);
            if (place.inside && slot >= 0) {
                target[slot * job.target_slot] = {v[sample].re, v[sample].im * job.store_sign};
            }
        };

        if (job.kernel == nullptr) {
            if (job.staged && next < tiles) stage_source(next);
            Fft::forward(lane, thread, v, job.twiddles);
            Fft::template for_each<last>(thread, store);
            continue;
        }
        const Complex<Real>* kernel = job.kernel + place.column;
        if (job.staged) {
            stage(Constant<last>{}, place, kernel, job.kernel_slot,
                  [](int frequency) { return frequency; });
        }
        Fft::forward(lane, thread, v, job.twiddles);
        if (job.staged) {
            context.wait_copies();
            Fft::template for_each<last>(thread, [&](auto sample, int) {
                v[sample] = conjugate(v[sample] * staging[sample * threads]);
            });
            if (next < tiles) stage_source(next);
        } else if (place.inside) {
            Fft::template for_each<last>(thread, [&](auto sample, int frequency) {
                v[sample] =
                    conjugate(v[sample] * context.load(kernel + frequency * job.kernel_slot));
            });
        }
        Fft::back(lane, thread, v, job.twiddles);
        Fft::template for_each<0>(thread, store);
    }
}

}  // namespace convolume::gpu
