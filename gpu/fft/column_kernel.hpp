// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes along y and z: a thread block transforms neighboring columns side by side. A column
// tile is the columns that it transforms at once.

#include <algorithm>
#include <limits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/error.hpp"
#include "gpu/fft/pass_types.hpp"
#include "gpu/fft/radix_stages.hpp"

namespace convolume::gpu {

/// A PositionMap of 32 bits, with 0 <= begin < length and 0 <= first < ring.
struct SlotMap {
    int begin = 0, count = 0, first = 0, ring = 1, length = 1;

    /// Returns the number of a position in the map, or -1 if it has no slot.
    CONVOLUME_DEVICE int index(int position) const {
        int i = position - begin;
        if (i < 0) i += length;
        return i < count ? i : -1;
    }
    /// Returns the slot of the i-th position in the map.
    CONVOLUME_DEVICE int slot(int i) const {
        const int slot = first + i;
        return slot < ring ? slot : slot - ring;
    }
    /// Returns the slot of a position, or -1 if it has none.
    CONVOLUME_DEVICE int operator()(int position) const {
        const int i = index(position);
        return i < 0 ? -1 : slot(i);
    }
};

template <class Real>
struct ColumnJob {
    const Complex<Real>* source = nullptr;
    Complex<Real>* target = nullptr;
    /// Spectrum or taps of the kernel; null: the pass only transforms.
    const Complex<Real>* kernel = nullptr;
    const Complex<Real>* twiddles = nullptr;
    unsigned source_slot_stride = 0, target_slot_stride = 0,
             kernel_slot_stride = 0;  // strides, in column tiles
    index_t source_batch_stride = 0, target_batch_stride = 0, kernel_batch_stride = 0;
    index_t columns = 0, batches = 1;
    SlotMap load_slots, store_slots;
    SlotParts parts;       ///< of the source's and the target's slots
    int taps = 0;          ///< number of the kernel's taps; 0: the kernel is given as its spectrum
    Real kernel_sign = 1;  ///< sign of the imaginary parts of the kernel's spectrum
    /// Signs of imaginary parts: an inverse transform conjugates before and after.
    Real load_sign = 1, store_sign = 1;
    /// Whether column tiles are copied to shared memory ahead of their use.
    bool prefetches = false;
    /// Whether the taps of column tiles are copied ahead of their use, too.
    bool prefetches_taps = false;
};

inline SlotMap slot_map(index_t length, const PositionMap& map) {
    if (map.count < 0 || map.count > length || map.count > map.ring) {
        throw InternalError(
            message(map.count, " of ", length, " positions in ", map.ring, " slots"));
    }
    const index_t ring = std::max<index_t>(map.ring, 1);
    const auto wrapped_index = [](index_t i, index_t n) {
        return static_cast<int>((i % n + n) % n);
    };
    return {wrapped_index(map.begin, length), static_cast<int>(map.count),
            wrapped_index(map.first, ring), static_cast<int>(ring), static_cast<int>(length)};
}

/// Returns a number of columns, or of samples between slots, as a number of column tiles.
template <class Real>
unsigned whole_column_tiles(index_t samples) {
    const index_t tiles = samples / tile_columns<Real>;
    if (samples % tile_columns<Real> != 0 || samples < 0 ||
        tiles > std::numeric_limits<unsigned>::max()) {
        throw InternalError(message(samples, " samples are no whole tiles"));
    }
    return static_cast<unsigned>(tiles);
}

template <class Real>
Complex<Real>* as_complex_samples(std::complex<Real>* data) {
    return reinterpret_cast<Complex<Real>*>(data);
}

/// Returns the job of transform_columns (passes.hpp), without twiddle factors.
template <class Real>
ColumnJob<Real> column_transform_job(index_t length, PassDirection direction,
                                     const Columns<Real>& source, const PositionMap& load,
                                     const Columns<Real>& target, const PositionMap& store) {
    ColumnJob<Real> job;
    job.source = as_complex_samples(source.data);
    job.source_slot_stride = whole_column_tiles<Real>(source.slot_stride);
    job.source_batch_stride = source.batch_stride;
    job.target = as_complex_samples(target.data);
    job.target_slot_stride = whole_column_tiles<Real>(target.slot_stride);
    job.target_batch_stride = target.batch_stride;
    job.columns = whole_column_tiles<Real>(source.columns) * tile_columns<Real>;
    job.batches = source.batches;
    job.load_slots = slot_map(length, load);
    job.store_slots = slot_map(length, store);
    job.load_sign = job.store_sign = direction == PassDirection::forward ? Real(1) : Real(-1);
    return job;
}

/// Returns the job of convolve_columns, without twiddle factors.
template <class Real>
ColumnJob<Real> convolve_job(index_t length, const Columns<Real>& data, const PositionMap& load,
                             const PositionMap& store, const ColumnKernel<Real>& kernel) {
    if (kernel.taps < 0 || kernel.taps > length || (kernel.taps > 0 && !transforms_kernels<Real>))
        throw InternalError(message(kernel.taps, " taps for columns of ", length));
    ColumnJob<Real> job;
    job.source = job.target = as_complex_samples(data.data);
    job.source_slot_stride = job.target_slot_stride = whole_column_tiles<Real>(data.slot_stride);
    job.kernel = as_complex_samples(kernel.columns.data);
    job.kernel_slot_stride = whole_column_tiles<Real>(kernel.columns.slot_stride);
    job.kernel_batch_stride = kernel.columns.batch_stride;
    job.taps = static_cast<int>(kernel.taps);
    job.kernel_sign = kernel.conjugate ? Real(-1) : Real(1);
    job.columns = whole_column_tiles<Real>(data.columns) * tile_columns<Real>;
    job.batches = data.batches;
    job.source_batch_stride = job.target_batch_stride = data.batch_stride;
    if (data.parts != nullptr) job.parts = *data.parts;
    job.load_slots = slot_map(length, load);
    job.store_slots = slot_map(length, store);
    job.store_sign = -1;
    return job;
}

/// Plans of columns that took less time than those that make_plan() chooses, measured on an H200.
inline constexpr TransformPlan measured_column_plans[] = {
    {1056, 3, {2, 22, 24}, 48, 24, 4},
    {1152, 3, {2, 24, 24}, 48, 24, 4},
};

/// The shape of a thread block of column_pass.
template <class Real, int N>
struct ColumnShape {
    static constexpr int floats_per_real = sizeof(Real) / sizeof(float);
    static constexpr int tile = static_cast<int>(tile_columns<Real>);

    /// Least number of columns of a thread block: a column tile, or less if its registers do not
    /// hold one. Blocks of short columns have more.
    static constexpr int least_columns = N <= 1024 ? tile : N <= 2048 ? tile / 2 : tile / 4;
    static constexpr TransformPlan plan = [] {
        if constexpr (floats_per_real == 1)
            for (const TransformPlan& measured : measured_column_plans)
                if (measured.n == N) return measured;
        return make_plan(N, {.single = floats_per_real == 1 ? 32 : 16,
                             .two_stage_elements = floats_per_real == 2 ? 18
                                                   : N > 1024           ? 16
                                                                        : 36,
                             .three_stage_elements = floats_per_real == 1 ? 32 : 18,
                             .max_threads = (N > 1024 ? 800 : 640) / least_columns,
                             .ideal_elements = N > 1024 ? 16 : 1,
                             .element_cost = N > 1024 ? 0.03 : 0.02,
                             .lanes = 32 / floats_per_real / least_columns});
    }();
    static constexpr int columns = [] {
        int count = least_columns;
        while (plan.threads * count < 128) count *= 2;
        return count;
    }();
    static constexpr int threads = plan.threads * columns;
    /// Bytes of shared memory: for exchanges and twiddle factors, and for a column tile copied from
    /// device memory.
    static constexpr index_t sample_bytes = 2 * sizeof(Real);
    static constexpr index_t exchange_bytes =
        (sample_bytes / 2 * plan.exchange_size() * columns + 15) / 16 * 16;
    static constexpr index_t fixed_bytes =
        (exchange_bytes + sample_bytes * plan.twiddle_count() + 15) / 16 * 16;
    static constexpr index_t prefetch_bytes = sample_bytes * N * columns;
    /// Thread blocks that the registers and the shared memory of a multiprocessor (of compute
    /// capability 9) hold.
    static constexpr int blocks_per_unit = [] {
        const int registers = 2 * floats_per_real * plan.elements + 44;
        const auto blocks_by_memory = static_cast<int>(232448 / (fixed_bytes + prefetch_bytes));
        const int blocks_by_registers = 65536 / (threads * registers);
        const int blocks =
            blocks_by_memory < blocks_by_registers ? blocks_by_memory : blocks_by_registers;
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
};

/// Returns the samples from slot 0 to `slot`: one instruction, since the stride is in column tiles.
template <class Real>
CONVOLUME_DEVICE index_t slot_offset(int slot, unsigned stride) {
    return static_cast<index_t>(static_cast<std::uint64_t>(static_cast<unsigned>(slot)) * stride) *
           tile_columns<Real>;
}

/// The same for slots in parts.
template <class Real>
CONVOLUME_DEVICE index_t slot_offset(int slot, unsigned stride, const SlotParts& parts) {
    const index_t offset = slot_offset<Real>(slot, stride);
    return parts.reciprocal == 0 ? offset : offset + parts.offset(slot);
}

/// A thread of a thread block that transforms columns of N samples. It knows its place in column
/// tiles, and moves samples from device memory to its registers.
template <class Real, int N, class Context>
struct ColumnThread {
    using Shape = ColumnShape<Real, N>;
    using Fft = RadixStages<Real, Shape>;
    using ThreadSamples = typename Fft::ThreadSamples;
    static constexpr int columns = Shape::columns, threads = Shape::threads;
    static constexpr int last = Shape::plan.last();

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
          prefetched_taps(prefetched_source + N * columns),
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

    CONVOLUME_DEVICE void prefetch_source(index_t tile) const {
        if (!job.prefetches || tile >= tiles) return;
        const TilePosition place = position_of_tile(tile);
        const Complex<Real>* const source =
            job.source + place.batch * job.source_batch_stride + place.column;
        prefetch(
            place, prefetched_source, N, source,
            [&](int slot) { return slot_offset<Real>(slot, job.source_slot_stride, job.parts); },
            job.load_slots);
    }
    /// A spectrum is prefetched to the place of the source, taps to a place of their own.
    CONVOLUME_DEVICE void prefetch_kernel(index_t tile, Complex<Real>* to, int count) const {
        const TilePosition place = position_of_tile(tile);
        prefetch(
            place, to, count, kernel_at(place),
            [&](int slot) { return slot_offset<Real>(slot, job.kernel_slot_stride); },
            [](int slot) { return slot; });
    }
    /// Taps are prefetched first, in a copy group of their own.
    CONVOLUME_DEVICE void prefetch_taps_and_source(index_t tile) const {
        if (job.prefetches_taps && tile < tiles) prefetch_kernel(tile, prefetched_taps, job.taps);
        context.end_copy_group();
        prefetch_source(tile);
        context.end_copy_group();
    }

    CONVOLUME_DEVICE void load_source(int thread, const TilePosition& place,
                                      ThreadSamples& v) const {
        if (job.prefetches) {
            context.wait_copies();
            load_prefetched(
                thread, prefetched_source, [](int) { return true; }, v);
        } else {
            load(
                thread, place, job.source + place.batch * job.source_batch_stride,
                [&](int slot) {
                    return slot_offset<Real>(slot, job.source_slot_stride, job.parts);
                },
                job.load_slots, v);
        }
        Fft::template for_each<0>(thread, [&](int sample, int) { v[sample].im *= job.load_sign; });
    }
    CONVOLUME_DEVICE void load_taps(int thread, const TilePosition& place, ThreadSamples& v) const {
        if (job.prefetches_taps) {
            context.wait_copies_but_last_group();
            load_prefetched(
                thread, prefetched_taps, [&](int position) { return position < job.taps; }, v);
        } else {
            load(
                thread, place, job.kernel + place.batch * job.kernel_batch_stride,
                [&](int slot) { return slot_offset<Real>(slot, job.kernel_slot_stride); },
                [&](int position) { return position < job.taps ? position : -1; }, v);
        }
    }

    /// Loads and transforms the taps, then the source, and prefetches those of the `next` column
    /// tile. A loop uses the same instructions for both: twice as many instructions load more
    /// slowly.
    template <class Forward>
    CONVOLUME_DEVICE void load_taps_and_source(int thread, const TilePosition& place, index_t next,
                                               ThreadSamples& v, ThreadSamples& spectrum,
                                               const Forward& forward) const {
        CONVOLUME_NO_UNROLL
        for (bool taps = true;; taps = false) {
            if (taps) {
                load_taps(thread, place, v);
            } else {
                load_source(thread, place, v);
                prefetch_taps_and_source(next);
            }
            forward();
            if (!taps) break;
            Fft::template for_each<last>(thread, [&](int sample, int) {
                spectrum[sample] = {v[sample].re, job.kernel_sign * v[sample].im};
            });
        }
    }

  private:
    /// Copies `count` positions of a column tile to shared memory, 16 bytes at a time. `from` is
    /// the column tile's first column in slot 0; slot_of(position) returns the slot of a position.
    template <class OffsetOf, class SlotOf>
    CONVOLUME_DEVICE void prefetch(const TilePosition& place, Complex<Real>* to, int count,
                                   const Complex<Real>* from, const OffsetOf& offset_of,
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
                                        from + (slot >= 0 ? offset_of(slot) : 0) + column,
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
    template <class OffsetOf, class SlotOf>
    CONVOLUME_DEVICE void load(int thread, const TilePosition& place, const Complex<Real>* from,
                               const OffsetOf& offset_of, const SlotOf& slot_of,
                               ThreadSamples& v) const {
        const index_t column = place.column + column_in_tile;
        from += column;
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            const int slot = slot_of(position);
            v[sample] = {0, 0};
            if (column < job.columns && slot >= 0) v[sample] = from[offset_of(slot)];
        });
    }
};

/// The body of the CUDA kernel for columns of N samples: it transforms and, if there is a kernel,
/// multiplies with its spectrum and transforms back. Each thread block takes column tiles, one
/// after another. With `OfTaps` the kernel is given as its taps, and registers keep its spectrum.
/// This is a body of its own, so that the other CUDA kernels need fewer registers.
template <class Real, int N, bool OfTaps, class Context>
CONVOLUME_DEVICE void column_pass(const Context& context, const ColumnJob<Real>& job) {
    using Shape = ColumnShape<Real, N>;
    using Fft = RadixStages<Real, Shape>;
    using Thread = ColumnThread<Real, N, Context>;
    constexpr int columns = Shape::columns, last = Shape::plan.last();

    char* const memory = context.shared();
    const SplitExchange<Real, Context> exchanger{
        context, reinterpret_cast<Real*>(memory) + context.thread() % columns, columns};
    auto* const twiddles = reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes);
    copy_table(context, twiddles, job.twiddles, Shape::plan.twiddle_count(), Shape::threads);
    context.sync();

    const Thread column_thread(context, job);
    index_t tile = context.block();
    if constexpr (OfTaps)
        column_thread.prefetch_taps_and_source(tile);
    else
        column_thread.prefetch_source(tile);
    for (; tile < column_thread.tiles; tile += context.blocks()) {
        const typename Thread::TilePosition place = column_thread.position_of_tile(tile);
        const index_t next = tile + context.blocks();
        const index_t column = place.column + column_thread.column_in_tile;
        const bool is_inside = column < job.columns;
        // The compiler forgets the value, so that it does not keep the addresses of all samples in
        // registers.
        const int thread = context.forget(context.thread() / columns);
        typename Fft::ThreadSamples v;

        [[maybe_unused]] typename Fft::ThreadSamples spectrum;  // the kernel's spectrum
        const auto forward = [&] { Fft::forward(exchanger, thread, v, twiddles); };
        if constexpr (OfTaps) {
            column_thread.load_taps_and_source(thread, place, next, v, spectrum, forward);
        } else {
            column_thread.load_source(thread, place, v);
            if (job.kernel == nullptr)
                column_thread.prefetch_source(next);
            else if (job.prefetches)
                column_thread.prefetch_kernel(tile, column_thread.prefetched_source, N);
            forward();
        }

        Complex<Real>* target = job.target + place.batch * job.target_batch_stride + column;
        const auto store = [&](int sample, int position) {
            const int slot = job.store_slots(position);
            if (is_inside && slot >= 0)
                target[slot_offset<Real>(slot, job.target_slot_stride, job.parts)] = {
                    v[sample].re, v[sample].im * job.store_sign};
        };

        const auto multiply_sample = [&](int sample, const Complex<Real>& factor) {
            v[sample] = conjugate(v[sample] * factor);
        };
        if constexpr (OfTaps) {
            Fft::template for_each<last>(
                thread, [&](int sample, int) { multiply_sample(sample, spectrum[sample]); });
        } else if (job.kernel == nullptr) {
            Fft::template for_each<last>(thread, store);
            continue;
        } else if (job.prefetches) {
            context.wait_copies();
            context.sync();
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k =
                    column_thread
                        .prefetched_source[frequency * columns + column_thread.column_in_tile];
                multiply_sample(sample, {k.re, job.kernel_sign * k.im});
            });
            context.sync();
            column_thread.prefetch_source(next);
        } else if (is_inside) {
            const Complex<Real>* const kernel =
                column_thread.kernel_at(place) + column_thread.column_in_tile;
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                const Complex<Real> k =
                    context.load(kernel + slot_offset<Real>(frequency, job.kernel_slot_stride));
                multiply_sample(sample, {k.re, job.kernel_sign * k.im});
            });
        }
        Fft::back(exchanger, thread, v, twiddles);
        Fft::template for_each<0>(thread, store);
    }
}

}  // namespace convolume::gpu
