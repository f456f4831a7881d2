// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes along x: rows of pixels to rows of spectra and back. A real row of 2N samples is
// transformed as N complex ones: even samples are the real parts, and odd samples the imaginary
// parts. The row's spectrum is split from the spectrum of the complex samples after a forward
// transform, and merged into it before an inverse transform.
//
// Rows that lie in memory as complex samples are loaded to registers directly. Pixels of other
// types, gathers, splits and merges go through shared memory, where a row is in natural order.

#include "gpu/fft/radix_stages.hpp"
#include "gpu/fft/row_job.hpp"

namespace convolume::gpu {

template <class Real, int N>
struct RowPlan {
    static constexpr TransformPlan plan =
        make_plan(N, {.single = 16,
                      .two_stage_elements = 16,
                      .three_stage_elements = N <= 2048 ? 16 : 20,
                      .max_threads = 512,
                      .ideal_elements = 16,
                      .lanes = 16 / static_cast<int>(sizeof(Real) / sizeof(float))});
};

/// Returns the share of a thread block's warps that its threads fill.
CONVOLUME_CONSTEXPR double share_of_warps_filled(int threads) {
    return threads / ((threads + 31) / 32 * 32.0);
}

/// The shape of a thread block of `Rows` rows.
template <class Real, int N, int Rows, class P = RowPlan<Real, N>>
struct RowBlock {
    static constexpr int floats_per_real = sizeof(Real) / sizeof(float);
    static constexpr TransformPlan plan = P::plan;
    static constexpr int rows = Rows;
    static constexpr int threads = plan.threads * rows;
    /// Shared samples of a row: neighboring rows of a warp start in different banks.
    static constexpr int row_size = [] {
        int size = plan.exchange_size() > N ? plan.exchange_size() : N;
        const int banks = 16 / floats_per_real;
        while (size % banks != plan.threads % banks) ++size;
        return size;
    }();
    /// Number of samples of the tables in shared memory: the twiddle factors and the twiddle
    /// factors of pairs.
    static constexpr int table_samples = plan.twiddle_count() + N / 2 + 1;
    static constexpr index_t shared_bytes =
        static_cast<index_t>(2 * sizeof(Real)) * (row_size * rows + table_samples);
    /// Thread blocks that the registers and the shared memory of a multiprocessor (of compute
    /// capability 9) hold.
    static constexpr int blocks_per_unit = [] {
        const int registers =
            2 * floats_per_real * plan.elements + (floats_per_real == 1 ? 44 : 72);
        const auto blocks_by_memory = static_cast<int>(232448 / shared_bytes);
        const int blocks_by_registers = 65536 / ((threads + 31) / 32 * 32 * registers);
        const int blocks =
            blocks_by_memory < blocks_by_registers ? blocks_by_memory : blocks_by_registers;
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
};

/// Returns the rows of a thread block of row_pass: those of 96 to 224 threads that fill their warps
/// best.
CONVOLUME_CONSTEXPR int rows_of_block(int threads_of_row) {
    int best = 1;
    double best_fill = 0;
    for (int count = 1; count * threads_of_row <= 224; ++count) {
        const int block = count * threads_of_row;
        if (block >= 96 && share_of_warps_filled(block) > best_fill + 0.01) {
            best = count;
            best_fill = share_of_warps_filled(block);
        }
    }
    return best;
}

template <class Real, int N>
struct RowShape : RowBlock<Real, N, rows_of_block(RowPlan<Real, N>::plan.threads)> {};

template <class Real>
CONVOLUME_DEVICE Complex<Real>* spectrum_row(const RowJob<Real>& job, index_t plane, index_t y) {
    index_t slot = job.first_plane + plane;
    if (slot >= job.ring) slot -= job.ring;
    return job.spectrum + slot * job.plane_stride + (y + job.kept_begin_y) * job.pitch;
}
template <class Real>
CONVOLUME_DEVICE Complex<Real>* spectrum_row(const RowJob<Real>& job, const ThreadRow<Real>& row) {
    return spectrum_row(job, row.plane, row.y);
}

/// Calls f(j, k) for the pairs (k, n-k), 0 <= k <= n/2, of a thread.
template <int N, int Threads, class F>
CONVOLUME_DEVICE void for_each_pair(int thread, const F& f) {
    CONVOLUME_UNROLL
    for (int j = 0; j <= (N / 2) / Threads; ++j) {
        const int k = thread + j * Threads;
        if ((j + 1) * Threads <= N / 2 + 1 || k <= N / 2) f(j, k);
    }
}
template <int N, int Threads>
inline constexpr int pairs_of_thread = (N / 2) / Threads + 1;

/// Computes the spectrum X of a real row from the spectrum Z of its N pairs in shared memory:
///     E = (Z[k] + conj Z[N-k]) / 2,  O = e^{-πik/N} (Z[k] - conj Z[N-k]) / 2i,
///     X[k] = E + O,  X[N-k] = conj(E - O)
template <int N, int Threads, class Real>
CONVOLUME_DEVICE void split_row(const RowJob<Real>& job, const ThreadRow<Real>& row,
                                const Complex<Real>* pair_twiddles) {
    // A pair's samples lie at fixed distances from the first pair's.
    Complex<Real>* const out = spectrum_row(job, row) + row.thread;
    Complex<Real>* const out_back = out + (N - 2 * row.thread);
    Samples<Real, pairs_of_thread<N, Threads>> a, b;
    for_each_pair<N, Threads>(row.thread, [&](int j, int k) {
        a[j] = row.shared[k];
        b[j] = row.shared[j == 0 && k == 0 ? 0 : N - k];
    });
    for_each_pair<N, Threads>(row.thread, [&](int j, int k) {
        const Complex<Real> conjugate_b = conjugate(b[j]);
        const Complex<Real> even = Real(0.5) * (a[j] + conjugate_b);
        const Complex<Real> odd = times_i(Real(-0.5) * (pair_twiddles[k] * (a[j] - conjugate_b)));
        out[j * Threads] = even + odd;
        out_back[-j * Threads] = conjugate(even - odd);
    });
}

/// Inverts split_row up to a factor 2, conjugated (so that a forward transform inverts it). X[0]
/// and X[N] count as real. load(j, k, a, b) gives X[k] and X[N-k] of pair j of a thread.
///     S = X[k] + conj X[N-k],  U = i e^{πik/N} (X[k] - conj X[N-k]),
///     Z[k] = S + U,  Z[N-k] = conj(S - U)
template <int N, int Threads, class Real, class Load>
CONVOLUME_DEVICE void merge_pairs(const ThreadRow<Real>& row, const Complex<Real>* pair_twiddles,
                                  const Load& load) {
    Samples<Real, pairs_of_thread<N, Threads>> a, b;
    for_each_pair<N, Threads>(row.thread, [&](int j, int k) { load(j, k, a[j], b[j]); });
    for_each_pair<N, Threads>(row.thread, [&](int j, int k) {
        const bool is_first_pair = j == 0 && k == 0;
        if (is_first_pair) a[j].im = b[j].im = 0;
        const Complex<Real> conjugate_b = conjugate(b[j]);
        const Complex<Real> sum = a[j] + conjugate_b;
        const Complex<Real> rotated = times_i(conjugate(pair_twiddles[k]) * (a[j] - conjugate_b));
        row.shared[k] = conjugate(sum + rotated);
        if (!is_first_pair) row.shared[N - k] = sum - rotated;
    });
}

/// Calls merge_pairs for a row in memory.
template <int N, int Threads, class Real, class Context>
CONVOLUME_DEVICE void merge_row(const Context& context, const RowJob<Real>& job,
                                const ThreadRow<Real>& row, const Complex<Real>* pair_twiddles) {
    const Complex<Real>* in = spectrum_row(job, row);
    merge_pairs<N, Threads>(row, pair_twiddles,
                            [&](int, int k, Complex<Real>& a, Complex<Real>& b) {
                                a = context.load(in + k);
                                b = context.load(in + (N - k));
                            });
}

/// Loads a row's samples to the registers of its threads, in their order at radix stage `Stage`:
/// directly if they lie in memory as complex samples, else through shared memory. All threads of a
/// thread block call it, whether there is a row for them (`inside`) or not. `inverse` is that of
/// the job, which a caller may know at compile time.
template <class Fft, int N, int Stage, class Real, class Context>
CONVOLUME_DEVICE void load_row(const Context& context, const RowJob<Real>& job, bool inverse,
                               const ThreadRow<Real>& row, bool is_inside,
                               const Complex<Real>* pair_twiddles, typename Fft::ThreadSamples& v) {
    if (job.loads_directly) {
        const Complex<Real>* source = nullptr;
        int loaded = 0;
        if (is_inside && inverse) {
            source = spectrum_row(job, row);
            loaded = N;
        } else if (is_inside) {
            const index_t offset = pixel_row_offset(job, row);
            if (offset != offset_of_zeros)
                source = static_cast<const Complex<Real>*>(job.pixels.data) +
                         (job.complex_rows ? offset : offset / 2);
            loaded = static_cast<int>(offset == offset_of_zeros ? 0
                                      : job.complex_rows        ? job.loaded_x
                                                                : job.loaded_x / 2);
        }
        Fft::template for_each<Stage>(row.thread, [&](int sample, int position) {
            v[sample] = {0, 0};
            if (position < loaded) v[sample] = context.load(source + position);
        });
        if (inverse) {
            Fft::template for_each<Stage>(row.thread,
                                          [&](int sample, int) { v[sample].im = -v[sample].im; });
        }
    } else {
        context.sync();
        if (is_inside) {
            if (inverse) {
                merge_row<N, Fft::plan.threads>(context, job, row, pair_twiddles);
            } else {
                load_pixels(context, job, row);
            }
        }
        context.sync();
        Fft::template for_each<Stage>(
            row.thread, [&](int sample, int position) { v[sample] = row.shared[position]; });
    }
}

/// Stores a row's samples, directly or through shared memory as load_row() does.
template <class Fft, int N, class Real, class Context>
CONVOLUME_DEVICE void store_row(const Context& context, const RowJob<Real>& job, bool inverse,
                                const ThreadRow<Real>& row, bool is_inside,
                                const Complex<Real>* pair_twiddles,
                                const typename Fft::ThreadSamples& v) {
    constexpr int last = Fft::plan.last();
    if (job.stores_directly) {
        if (!is_inside) return;
        if (inverse) {
            const int pixels_per_sample = job.complex_rows ? 1 : 2;  // pixels of a sample
            const index_t offset =
                row.plane * job.pixels.plane_stride + row.y * job.pixels.row_stride;
            auto* target =
                static_cast<Complex<Real>*>(job.pixels.data) + offset / pixels_per_sample;
            const int begin = static_cast<int>(job.kept_begin_x / pixels_per_sample);
            const int kept = static_cast<int>(job.kept_x / pixels_per_sample);
            Fft::template for_each<last>(row.thread, [&](int sample, int position) {
                const int at = position - begin;
                const Complex<Real> value{job.scale * v[sample].re + job.add.re,
                                          job.add.im - job.scale * v[sample].im};
                if (at >= 0 && at < kept) target[at] = value;
            });
        } else {
            Complex<Real>* target = spectrum_row(job, row);
            Fft::template for_each<last>(
                row.thread, [&](int sample, int position) { target[position] = v[sample]; });
        }
    } else {
        context.sync();
        Fft::template for_each<last>(
            row.thread, [&](int sample, int position) { row.shared[position] = v[sample]; });
        context.sync();
        if (is_inside) {
            if (inverse) {
                store_pixels(context, job, row);
            } else {
                split_row<N, Fft::plan.threads>(job, row, pair_twiddles);
            }
        }
    }
}

/// The body of the CUDA kernel for rows of N complex samples. Each thread block takes groups of
/// rows, one after another.
template <class Real, int N, class Context>
CONVOLUME_DEVICE void row_pass(const Context& context, const RowJob<Real>& job) {
    using Shape = RowShape<Real, N>;
    using Fft = RadixStages<Real, Shape>;

    const int row_in_group = context.thread() / Shape::plan.threads;
    const int thread = context.thread() % Shape::plan.threads;
    auto* const memory = reinterpret_cast<Complex<Real>*>(context.shared());
    Complex<Real>* const shared = memory + row_in_group * Shape::row_size;
    Complex<Real>* const twiddles = memory + Shape::rows * Shape::row_size;
    const Complex<Real>* const pair_twiddles = twiddles + Shape::plan.twiddle_count();
    copy_table(context, twiddles, job.twiddles, Shape::table_samples, Shape::threads);
    context.sync();
    const WholeExchange<Real, Context> exchanger{context, shared};
    const index_t count = job.planes * job.rows;

    for (index_t first = context.block() * Shape::rows; first < count;
         first += context.blocks() * Shape::rows) {
        const index_t index = first + row_in_group;
        const bool is_inside = index < count;
        const index_t plane = job.planes == 1 ? 0 : index / job.rows;
        const ThreadRow<Real> row{plane,  index - plane * job.rows, shared, N,
                                  thread, Shape::plan.threads};
        typename Fft::ThreadSamples v;
        load_row<Fft, N, 0>(context, job, job.inverse, row, is_inside, pair_twiddles, v);
        Fft::forward(exchanger, thread, v, twiddles);
        store_row<Fft, N>(context, job, job.inverse, row, is_inside, pair_twiddles, v);
    }
}

}  // namespace convolume::gpu
