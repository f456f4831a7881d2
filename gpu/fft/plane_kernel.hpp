// SPDX-License-Identifier: Apache-2.0
#pragma once
// The convolution of small planes of real samples in one pass: a thread block holds the spectra of
// whole planes in shared memory. Rows are transformed along x, columns along y, multiplied with the
// kernel's spectrum and transformed back, and rows are transformed back to pixels.
//
// Only the rows that are loaded or kept take shared memory: zeros along y exist in registers alone.
// The threads of a row, and those of a column, are in one warp, so that threads of a thread block
// wait for each other only between these steps.

#include <type_traits>

#include "gpu/fft/column_job.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/row_pairs.hpp"

namespace convolume::gpu {

/// The warps of a thread block, the planes that it convolves at a time, the first radices of rows
/// and of columns, and the threads of a column.
struct PlaneChoice {
    int length, warps, planes, row_radix, column_radix, column_threads;
    /// Whether threads of columns keep twiddle factors in registers.
    bool keeps_twiddles;
    int blocks_per_unit;  ///< thread blocks that a multiprocessor should hold at a time
};

/// Choices that took least time on an H200, of up to a dozen for each length.
inline constexpr PlaneChoice measured_planes[] = {
    {32, 2, 3, 16, 32, 1, false, 8},  //
    {48, 4, 5, 24, 6, 8, true, 4},    //
    {64, 9, 2, 4, 8, 8, true, 3},     //
    {96, 7, 1, 6, 12, 8, true, 2},    //
    {128, 9, 1, 8, 8, 8, false, 2},   //
};

/// Returns the plan of a transform by threads of one warp: of one radix stage by one thread, else
/// of two radix stages.
CONVOLUME_CONSTEXPR TransformPlan plan_in_warp(int length, int radix, int threads, bool paired) {
    if (radix == length) return {length, 1, {length, 1, 1}, 1, length, 1};
    TransformPlan plan{length, 2, {radix, length / radix, 1}, threads, 0, threads, paired};
    for (int stage = 0; stage < plan.stages; ++stage) {
        const int elements = plan.butterflies_per_thread(stage) * plan.radix[stage];
        if (elements > plan.elements) plan.elements = elements;
    }
    return plan;
}

/// The shape of the thread blocks of a choice, Choice::choice.
template <class RealNumber, class Choice>
struct PlaneBlockShape {
    using Real = RealNumber;
    static constexpr PlaneChoice choice = Choice::choice;
    static constexpr int length = choice.length, pairs = length / 2, planes = choice.planes;
    static constexpr int threads = 32 * choice.warps;
    struct RowOfPlane {
        static constexpr TransformPlan plan =
            plan_in_warp(pairs, choice.row_radix, pairs / choice.row_radix / 2, true);
    };
    struct ColumnOfPlane {
        static constexpr TransformPlan plan =
            plan_in_warp(length, choice.column_radix, choice.column_threads, false);
    };
    static constexpr int spectrum_columns = pairs + 1;
    static constexpr int rows_at_once = threads / RowOfPlane::plan.threads,
                         columns_at_once = threads / ColumnOfPlane::plan.threads,
                         columns_of_warp = columns_at_once / choice.warps;
    static_assert(rows_at_once * RowOfPlane::plan.threads == threads &&
                  columns_of_warp * ColumnOfPlane::plan.threads == 32);

    /// Complex samples from row to row in shared memory: the threads of half a warp, which access
    /// memory in one step, use different banks.
    static constexpr int pitch = [] {
        constexpr int exchange = RowOfPlane::plan.exchange_size();
        int size = exchange > spectrum_columns ? exchange : spectrum_columns;
        while (size % 16 != RowOfPlane::plan.threads % 16) ++size;
        return size;
    }();
    /// Whether several threads share a row, or a column.
    static constexpr bool shares_rows = RowOfPlane::plan.threads > 1,
                          shares_columns = ColumnOfPlane::plan.threads > 1;
    /// Complex samples in which a column is exchanged between its threads, or a row that is not
    /// there between those of a row.
    static constexpr int exchange_pitch = [] {
        if (!shares_columns) return 0;
        int size = ColumnOfPlane::plan.exchange_size();
        // threads of a column among those that access memory in one step
        constexpr int threads_of_step = columns_of_warp < 16 ? 16 / columns_of_warp : 1;
        while (size % 16 != threads_of_step % 16) ++size;
        return size;
    }();
    static constexpr int exchange_samples = [] {
        const int columns = columns_at_once * exchange_pitch;
        const int rows = shares_rows ? rows_at_once * pitch : 0;
        return columns > rows ? columns : rows;
    }();
    /// The kernel's spectrum lies in memory in the order in which the threads of columns use it:
    /// sample i of thread t of column x is at (i * spectrum_columns + x) *
    /// ColumnOfPlane::plan.threads + t.
    static constexpr int kernel_samples = [] {
        constexpr TransformPlan plan = ColumnOfPlane::plan;
        return plan.butterflies_per_thread(plan.last()) * plan.radix[plan.last()] * plan.threads *
               spectrum_columns;
    }();
    static constexpr int row_table = RowOfPlane::plan.twiddle_count() + pairs / 2 + 1,
                         column_table = ColumnOfPlane::plan.twiddle_count();
    static index_t shared_bytes(index_t rows_of_plane) {
        return static_cast<index_t>(sizeof(Complex<Real>)) *
               (rows_of_plane * pitch * planes + exchange_samples + row_table + column_table);
    }
};

template <std::size_t I>
struct MeasuredPlanes {
    static constexpr PlaneChoice choice = measured_planes[I];
};
template <std::size_t I>
using MeasuredPlaneBlock = PlaneBlockShape<float, MeasuredPlanes<I>>;

template <class Real>
struct PlaneJob {
    RowJob<Real> loads, stores;
    int rows = 1;  ///< rows of a plane in shared memory
    const Complex<Real>* kernel = nullptr;
    /// Place for the spectrum of a kernel, the only plane then; null: planes are convolved.
    Complex<Real>* spectrum = nullptr;
    const Complex<Real>* column_twiddles = nullptr;
    int loaded_y = 1, kept_begin_y = 0, kept_y = 1;
};

/// Returns the job of transform_plane_kernel (planes.hpp), without tables.
template <class Real>
PlaneJob<Real> plane_kernel_job(index_t length, const RowSource& taps, Complex<Real>* spectrum) {
    if (taps.planes != 1 || taps.loaded_y > length)
        throw InternalError(
            message(taps.planes, " kernels of ", taps.loaded_y, " rows for ", length));
    PlaneJob<Real> job;
    job.loads = forward_job(length, false, taps, SpectrumPlanes<Real>{});
    job.rows = job.loaded_y = static_cast<int>(taps.loaded_y);
    job.spectrum = spectrum;
    return job;
}

/// Returns the job of convolve_planes (planes.hpp), without tables.
template <class Real>
PlaneJob<Real> plane_job(index_t length, const RowSource& source, const Complex<Real>* kernel,
                         const RowTarget& target, double scale) {
    if (source.planes != target.planes || source.loaded_y > length || target.kept_begin_y < 0 ||
        target.kept_begin_y + target.kept_y > length)
        throw InternalError(message(source.planes, " planes of ", source.loaded_y, " rows for ",
                                    target.planes, " of ", length));
    const index_t planes = source.planes > 0 ? source.planes : 1;
    const SpectrumPlanes<Real> in_shared_memory{nullptr, 0, 0, 0, planes};
    PlaneJob<Real> job;
    job.loads = forward_job(length, false, source, in_shared_memory);
    job.stores = inverse_job(length, false, in_shared_memory, target, scale);
    job.rows = static_cast<int>(std::max(source.loaded_y, target.kept_y));
    job.kernel = kernel;
    job.loaded_y = static_cast<int>(source.loaded_y);
    job.kept_begin_y = static_cast<int>(target.kept_begin_y);
    job.kept_y = static_cast<int>(target.kept_y);
    return job;
}

/// A thread block whose threads wait only for those that share a row or a column: those of their
/// warp, or none. It reads shared memory, too.
template <class Context, bool Shares>
struct SharingContext : Context {
    CONVOLUME_DEVICE explicit SharingContext(const Context& context) : Context(context) {}
    CONVOLUME_DEVICE void sync() const {
        if constexpr (Shares) this->sync_warp();
    }
    template <class T>
    CONVOLUME_DEVICE T load(const T* p) const {
        return *p;
    }
};

/// As load_row() and store_row(), for rows of pairs of floats of 16 bits.
template <class Fft, class Real, class Context>
CONVOLUME_DEVICE void load_short_pairs(const Context& context, const RowJob<Real>& job,
                                       const ThreadRow<Real>& row, bool is_inside,
                                       typename Fft::ThreadSamples& v) {
    const index_t offset = is_inside ? pixel_row_offset(job, row) : offset_of_zeros;
    const bool is_zero = offset == offset_of_zeros;
    const int loaded = is_zero ? 0 : static_cast<int>(job.loaded_x / 2);
    const auto* const pairs =
        static_cast<const std::uint32_t*>(job.pixels.data) + (is_zero ? 0 : offset / 2);
    with_short_pixel(job.pixels.storage, [&](auto pixel) {
        const WordDecoder<decltype(pixel)::storage> decode;
        Fft::template for_each<Fft::plan.last()>(row.thread, [&](int sample, int position) {
            const std::uint32_t pair = position < loaded ? context.load(pairs + position) : 0;
            v[sample] = {decode(static_cast<SampleWord>(pair)),
                         decode(static_cast<SampleWord>(pair >> 16))};
        });
    });
}
template <class Fft, class Real>
CONVOLUME_DEVICE void store_short_pairs(const RowJob<Real>& job, const ThreadRow<Real>& row,
                                        bool is_inside, const typename Fft::ThreadSamples& v) {
    if (!is_inside) return;
    const index_t offset = row.plane * job.pixels.plane_stride + row.y * job.pixels.row_stride;
    auto* const pairs = static_cast<std::uint32_t*>(job.pixels.data) + offset / 2;
    const int begin = static_cast<int>(job.kept_begin_x / 2);
    const int kept = static_cast<int>(job.kept_x / 2);
    with_short_pixel(job.pixels.storage, [&](auto pixel) {
        WordEncoder<decltype(pixel)::storage> encode(1.0F);
        Fft::template for_each<Fft::plan.last()>(row.thread, [&](int sample, int position) {
            const int at = position - begin;
            const Complex<Real> value{job.scale * v[sample].re + job.add.re,
                                      job.add.im - job.scale * v[sample].im};
            if (at >= 0 && at < kept) pairs[at] = encode(value);
        });
    });
}

/// The body of the CUDA kernel for planes. Each thread block takes groups of planes, one after
/// another.
template <class Shape, class Context>
CONVOLUME_DEVICE void plane_pass(const Context& context,
                                 const PlaneJob<typename Shape::Real>& job) {
    using Real = typename Shape::Real;
    using RowFft = RadixStages<Real, typename Shape::RowOfPlane>;
    using ColumnFft = RadixStages<Real, typename Shape::ColumnOfPlane>;
    using RowContext = SharingContext<Context, Shape::shares_rows>;
    using ColumnContext = SharingContext<Context, Shape::shares_columns>;
    using Pairs = std::conditional_t<Shape::shares_rows, RowPairs<typename Shape::RowOfPlane>,
                                     PairsOfOneThread<typename Shape::RowOfPlane>>;
    constexpr int row_threads = RowFft::plan.threads;

    const RowContext row_context(context);
    const ColumnContext column_context(context);
    const index_t plane_samples = index_t{job.rows} * Shape::pitch;
    auto* const spectra = reinterpret_cast<Complex<Real>*>(context.shared());
    Complex<Real>* const exchanges = spectra + plane_samples * Shape::planes;
    Complex<Real>* const row_twiddles = exchanges + Shape::exchange_samples;
    const Complex<Real>* const pair_twiddles = row_twiddles + RowFft::plan.twiddle_count();
    Complex<Real>* const column_twiddles = row_twiddles + Shape::row_table;
    copy_table(context, row_twiddles, job.loads.twiddles, Shape::row_table, Shape::threads);
    copy_table(context, column_twiddles, job.column_twiddles, Shape::column_table, Shape::threads);

    const int row_of_thread = context.thread() / row_threads;
    const int lane = context.thread() % 32;
    const int column_of_thread =
        context.thread() / 32 * Shape::columns_of_warp + lane % Shape::columns_of_warp;
    const int thread_of_column = lane / Shape::columns_of_warp;
    context.sync();
    const auto factors = [&] {
        if constexpr (Shape::choice.keeps_twiddles)
            return typename ColumnFft::KeptTwiddles(thread_of_column, column_twiddles);
        else
            return static_cast<const Complex<Real>*>(column_twiddles);
    }();
    Complex<Real>* const column_exchange = exchanges + column_of_thread * Shape::exchange_pitch;

    for (index_t first = context.block() * Shape::planes; first < job.loads.planes;
         first += context.blocks() * Shape::planes) {
        const index_t left = job.loads.planes - first;
        const int planes = left < Shape::planes ? static_cast<int>(left) : Shape::planes;
        // Calls transform(row, is_inside) for the rows of all planes. A row is transformed in the
        // place of its spectrum. Threads that have no row, but wait with others, work on a spare
        // one.
        const auto for_each_row = [&](const RowJob<Real>& rows, const auto& transform) {
            const auto rows_of_plane = static_cast<int>(rows.rows);
            CONVOLUME_NO_UNROLL
            for (int begin = 0; begin < planes * rows_of_plane; begin += Shape::rows_at_once) {
                const int index = begin + row_of_thread;
                const bool is_inside = index < planes * rows_of_plane;
                if (!Shape::shares_rows && !is_inside) break;
                const int plane = is_inside ? index / rows_of_plane : 0;
                const int y = is_inside ? index - plane * rows_of_plane : 0;
                transform(
                    ThreadRow<Real>{first + plane, y,
                                    is_inside ? spectra + plane * plane_samples + y * Shape::pitch
                                              : exchanges + row_of_thread * Shape::pitch,
                                    Shape::pairs, context.thread() % row_threads, row_threads},
                    is_inside);
            }
        };
        const auto pairs_of = [](const ThreadRow<Real>& row) {
            if constexpr (Shape::shares_rows)
                return Pairs{row.thread};
            else
                return Pairs{};
        };
        context.sync();
        for_each_row(job.loads, [&](const ThreadRow<Real>& row, bool is_inside) {
            typename RowFft::ThreadSamples v;
            if (job.loads.loads_short_pairs)
                load_short_pairs<RowFft>(row_context, job.loads, row, is_inside, v);
            else
                load_row<RowFft, Shape::pairs, RowFft::plan.last()>(
                    row_context, job.loads, false, row, is_inside, pair_twiddles, v);
            RowFft::back(WholeExchange<Real, RowContext>{row_context, row.shared}, row.thread, v,
                         row_twiddles);
            row_context.sync();
            const auto samples = pairs_of(row).pointers_in_row(row.shared);
            pairs_of(row).split(
                v, pair_twiddles,
                [&](int j, const Complex<Real>& a, const Complex<Real>& b) {
                    *samples.sample_of(j) = a;
                    *samples.opposite_sample_of(j) = b;
                },
                [&](const Complex<Real>& center) { row.shared[Shape::pairs / 2] = center; });
        });
        context.sync();
        CONVOLUME_NO_UNROLL
        for (int begin = 0; begin < planes * Shape::spectrum_columns;
             begin += Shape::columns_at_once) {
            const int index = begin + column_of_thread;
            const bool is_inside = index < planes * Shape::spectrum_columns;
            if (!Shape::shares_columns && !is_inside) break;
            const int plane = is_inside ? index / Shape::spectrum_columns : 0;
            const int x = is_inside ? index - plane * Shape::spectrum_columns : 0;
            Complex<Real>* const column = spectra + plane * plane_samples + x;
            Complex<Real>* const kept_column = column - job.kept_begin_y * Shape::pitch;
            typename ColumnFft::ThreadSamples v;
            ColumnFft::template for_each<0>(thread_of_column, [&](int sample, int position) {
                v[sample] = {0, 0};
                if (is_inside && position < job.loaded_y)
                    v[sample] = column[position * Shape::pitch];
            });
            const WholeExchange<Real, ColumnContext> exchange{column_context, column_exchange};
            ColumnFft::forward(exchange, thread_of_column, v, factors);
            const index_t place = index_t{x} * ColumnFft::plan.threads + thread_of_column;
            constexpr int sample_stride = Shape::spectrum_columns * ColumnFft::plan.threads;
            if (job.spectrum != nullptr) {
                ColumnFft::template for_each<ColumnFft::plan.last()>(
                    thread_of_column, [&](int sample, int) {
                        if (is_inside) job.spectrum[place + sample * sample_stride] = v[sample];
                    });
                continue;
            }
            ColumnFft::template for_each<ColumnFft::plan.last()>(
                thread_of_column, [&](int sample, int) {
                    v[sample] = conjugate(
                        v[sample] * context.load(job.kernel + place + sample * sample_stride));
                });
            ColumnFft::back(exchange, thread_of_column, v, factors);
            ColumnFft::template for_each<0>(thread_of_column, [&](int sample, int position) {
                const int y = position - job.kept_begin_y;
                if (is_inside && y >= 0 && y < job.kept_y)
                    kept_column[position * Shape::pitch] = conjugate(v[sample]);
            });
        }
        if (job.spectrum != nullptr) return;
        context.sync();
        for_each_row(job.stores, [&](const ThreadRow<Real>& row, bool is_inside) {
            typename RowFft::ThreadSamples v;
            const auto samples = pairs_of(row).pointers_in_row(row.shared);
            pairs_of(row).merge(v, pair_twiddles, row.shared[Shape::pairs / 2],
                                [&](int j, Complex<Real>& a, Complex<Real>& b) {
                                    a = *samples.sample_of(j);
                                    b = *samples.opposite_sample_of(j);
                                });
            RowFft::forward(WholeExchange<Real, RowContext>{row_context, row.shared}, row.thread, v,
                            row_twiddles);
            if (job.stores.stores_short_pairs)
                store_short_pairs<RowFft>(job.stores, row, is_inside, v);
            else
                store_row<RowFft, Shape::pairs>(row_context, job.stores, true, row, is_inside,
                                                pair_twiddles, v);
        });
    }
}

}  // namespace convolume::gpu
