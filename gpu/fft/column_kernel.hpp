// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes along y and z: a thread block transforms neighboring columns side by side. A column
// tile is the columns that it transforms at once.

#include "gpu/fft/column_job.hpp"
#include "gpu/fft/column_shape.hpp"
#include "gpu/fft/radix_stages.hpp"

namespace convolume::gpu {

/// Returns the samples from slot 0 to `slot`: one instruction, since the stride is in column tiles.
template <class Real>
CONVOLUME_DEVICE index_t slot_offset(int slot, unsigned stride) {
    return static_cast<index_t>(static_cast<std::uint64_t>(static_cast<unsigned>(slot)) * stride) *
           tile_columns<Real>;
}

/// A thread of a thread block that transforms columns. It knows its place in column tiles, and
/// moves samples from device memory to its registers.
template <class Shape, class Context>
struct ColumnThread {
    using Real = typename Shape::Real;
    using Fft = RadixStages<Real, Shape>;
    using ThreadSamples = typename Fft::ThreadSamples;
    static constexpr int columns = Shape::columns, threads = Shape::threads, length = Shape::plan.n;

    /// The batch and the first column of a column tile.
    struct TilePosition {
        index_t batch, column;
    };

    const Context& context;
    const ColumnJob<Real>& job;
    const int column_in_tile;
    /// Column tiles of the source and of taps, in shared memory.
    Complex<Real>*const prefetched_source, *const prefetched_taps;
    const index_t tiles_per_batch, tiles;

    CONVOLUME_DEVICE ColumnThread(const Context& block, const ColumnJob<Real>& of)
        : context(block),
          job(of),
          column_in_tile(block.thread() % columns),
          prefetched_source(reinterpret_cast<Complex<Real>*>(block.shared() + Shape::fixed_bytes)),
          prefetched_taps(prefetched_source + length * columns),
          tiles_per_batch((of.columns + columns - 1) / columns),
          tiles(tiles_per_batch * of.batches) {}

    CONVOLUME_DEVICE TilePosition position_of_tile(index_t tile) const {
        const index_t batch = job.batches == 1 ? 0 : tile / tiles_per_batch;
        return {batch, (tile - batch * tiles_per_batch) * columns};
    }

    /// Returns the kernel's first sample in the columns of a column tile.
    CONVOLUME_DEVICE const Complex<Real>* kernel_at(const TilePosition& place) const {
        return job.kernel + place.batch * job.kernel_batch_stride + place.column;
    }

    /// Whether this thread's column exists.
    CONVOLUME_DEVICE bool is_inside(const TilePosition& place) const {
        return place.column + column_in_tile < job.columns;
    }
    /// Returns the place in shared memory of a sample of this thread's column.
    CONVOLUME_DEVICE Complex<Real>* prefetched_sample(int position) const {
        return prefetched_source + position * columns + column_in_tile;
    }

    CONVOLUME_DEVICE void prefetch_source(index_t tile) const {
        if (!job.prefetches || tile >= tiles) return;
        const TilePosition place = position_of_tile(tile);
        const Complex<Real>* const source =
            job.source + place.batch * job.source_batch_stride + place.column;
        prefetch(place, prefetched_source, length, source, job.source_slot_stride, job.load_slots);
    }
    /// A spectrum is prefetched to the place of the source, taps to a place of their own.
    CONVOLUME_DEVICE void prefetch_kernel(index_t tile, Complex<Real>* to, int count) const {
        const TilePosition place = position_of_tile(tile);
        prefetch(place, to, count, kernel_at(place), job.kernel_slot_stride,
                 [](int slot) { return slot; });
    }

    /// Loads the source, for which copies to shared memory have been waited.
    CONVOLUME_DEVICE void load_source(int thread, const TilePosition& place,
                                      ThreadSamples& v) const {
        if (job.prefetches)
            load_prefetched(
                thread, prefetched_source, [](int) { return true; }, v);
        else
            load(thread, place, job.source + place.batch * job.source_batch_stride,
                 job.source_slot_stride, job.load_slots, v);
        Fft::template for_each<0>(thread, [&](int sample, int) { v[sample].im *= job.load_sign; });
    }
    /// Loads taps likewise.
    CONVOLUME_DEVICE void load_taps(int thread, const TilePosition& place, ThreadSamples& v) const {
        if (job.prefetches_taps)
            load_prefetched(
                thread, prefetched_taps, [&](int position) { return position < job.taps; }, v);
        else
            load(
                thread, place, job.kernel + place.batch * job.kernel_batch_stride,
                job.kernel_slot_stride,
                [&](int position) { return position < job.taps ? position : -1; }, v);
    }

    /// Returns the target's first sample in the column of this thread.
    CONVOLUME_DEVICE Complex<Real>* target_at(const TilePosition& place) const {
        return job.target + place.batch * job.target_batch_stride + place.column + column_in_tile;
    }
    /// Stores a sample of the column at `target` in the slot of its position, if it has one.
    CONVOLUME_DEVICE void store(Complex<Real>* target, bool is_inside, int position,
                                const Complex<Real>& sample) const {
        const int slot = job.store_slots(position);
        if (is_inside && slot >= 0)
            target[slot_offset<Real>(slot, job.target_slot_stride)] = {sample.re,
                                                                       sample.im * job.store_sign};
    }

  private:
    /// Copies `count` positions of a column tile to shared memory, 16 bytes at a time. `from` is
    /// the column tile's first column in slot 0; slot_of(position) returns the slot of a position.
    template <class SlotOf>
    CONVOLUME_DEVICE void prefetch(const TilePosition& place, Complex<Real>* to, int count,
                                   const Complex<Real>* from, unsigned stride,
                                   const SlotOf& slot_of) const {
        constexpr int samples_per_copy = 16 / sizeof(Complex<Real>),
                      copies_per_row = columns / samples_per_copy;
        constexpr int step = threads / copies_per_row;
        const int column = context.thread() % copies_per_row * samples_per_copy;
        if (context.thread() >= step * copies_per_row) return;
        const bool is_inside = place.column + column < job.columns;
        CONVOLUME_UNROLL_4
        for (int position = context.thread() / copies_per_row; position < count; position += step) {
            const int slot = slot_of(position);
            context.copy_or_zeros_async(to + position * columns + column,
                                        from + slot_offset<Real>(slot, stride) + column,
                                        is_inside && slot >= 0);
        }
    }
    template <class HasSample>
    CONVOLUME_DEVICE void load_prefetched(int thread, const Complex<Real>* from,
                                          const HasSample& has_sample, ThreadSamples& v) const {
        context.sync();
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            v[sample] = {0, 0};
            if (has_sample(position)) v[sample] = from[position * columns + column_in_tile];
        });
        context.sync();
    }
    template <class SlotOf>
    CONVOLUME_DEVICE void load(int thread, const TilePosition& place, const Complex<Real>* from,
                               unsigned stride, const SlotOf& slot_of, ThreadSamples& v) const {
        const index_t column = place.column + column_in_tile;
        from += column;
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            const int slot = slot_of(position);
            v[sample] = {0, 0};
            if (column < job.columns && slot >= 0)
                v[sample] = from[slot_offset<Real>(slot, stride)];
        });
    }
};

/// The body of the CUDA kernel for columns: it transforms and, if there is a kernel, multiplies
/// with its spectrum and transforms back. Each thread block takes column tiles, one after another.
template <class Shape, class Context>
CONVOLUME_DEVICE void column_pass(const Context& context,
                                  const ColumnJob<typename Shape::Real>& job) {
    using Real = typename Shape::Real;
    using Fft = RadixStages<Real, Shape>;
    using Thread = ColumnThread<Shape, Context>;
    constexpr int columns = Shape::columns, last = Shape::plan.last();

    char* const memory = context.shared();
    const SplitExchange<Real, Context> exchanger{
        context, reinterpret_cast<Real*>(memory) + context.thread() % columns, columns};
    auto* const twiddles = reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes);
    copy_table(context, twiddles, job.twiddles, Shape::plan.twiddle_count(), Shape::threads);
    context.sync();

    const Thread column_thread(context, job);
    index_t tile = context.block();
    column_thread.prefetch_source(tile);
    for (; tile < column_thread.tiles; tile += context.blocks()) {
        const typename Thread::TilePosition place = column_thread.position_of_tile(tile);
        const index_t next = tile + context.blocks();
        const bool is_inside = column_thread.is_inside(place);
        // The compiler forgets the value, so that it does not keep the addresses of all samples in
        // registers.
        const int thread = context.forget(context.thread() / columns);
        typename Fft::ThreadSamples v;
        context.wait_copies();
        column_thread.load_source(thread, place, v);
        if (job.kernel == nullptr)
            column_thread.prefetch_source(next);
        else if (job.prefetches)
            column_thread.prefetch_kernel(tile, column_thread.prefetched_source, Shape::plan.n);
        Fft::forward(exchanger, thread, v, twiddles);

        Complex<Real>* const target = column_thread.target_at(place);
        const auto store = [&](int sample, int position) {
            column_thread.store(target, is_inside, position, v[sample]);
        };
        const auto multiply_sample = [&](int sample, const Complex<Real>& factor) {
            v[sample] =
                conjugate(v[sample] * Complex<Real>{factor.re, job.kernel_sign * factor.im});
        };
        if (job.kernel == nullptr) {
            Fft::template for_each<last>(thread, store);
            continue;
        }
        if (job.prefetches) {
            context.wait_copies();
            context.sync();
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                multiply_sample(sample, *column_thread.prefetched_sample(frequency));
            });
            context.sync();
            column_thread.prefetch_source(next);
        } else if (is_inside) {
            const Complex<Real>* const kernel =
                column_thread.kernel_at(place) + column_thread.column_in_tile;
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                multiply_sample(
                    sample,
                    context.load(kernel + slot_offset<Real>(frequency, job.kernel_slot_stride)));
            });
        }
        Fft::back(exchanger, thread, v, twiddles);
        Fft::template for_each<0>(thread, store);
    }
}

}  // namespace convolume::gpu
