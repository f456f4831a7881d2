#pragma once
// The passes along x: rows of pixels to rows of spectra and back. A real row of 2N samples is
// transformed as N complex ones, of which even samples are the real and odd ones the imaginary
// parts; its spectrum is split from theirs afterwards, or merged into theirs before.
//
// Rows that are complex as they lie in memory go straight to registers; pixels of other types,
// gathers, splits and merges go through shared memory, where a row lies in natural order.

#include "gpu/fft/row_job.hpp"
#include "gpu/fft/stages.hpp"

namespace convolume::gpu {

/// How a block of row_pass is shaped.
template <class Real, int N>
struct RowShape {
    static constexpr int words = sizeof(Real) / sizeof(float);
    static constexpr Plan value = make_plan(N, {.single = 16,
                                                .two_elements = 16,
                                                .three_elements = N <= 2048 ? 16 : 20,
                                                .max_threads = 512,
                                                .ideal_elements = 16,
                                                .lanes = 16 / words});
    /// Rows of a block: those of 96 to 224 threads that fill their warps best.
    static constexpr int rows = [] {
        int best = 1;
        double best_fill = 0;
        for (int count = 1; count * value.threads <= 224; ++count) {
            const int block = count * value.threads;
            const double fill = block / ((block + 31) / 32 * 32.0);
            if (block >= 96 && fill > best_fill + 0.01) {
                best = count;
                best_fill = fill;
            }
        }
        return best;
    }();
    static constexpr int threads = value.threads * rows;
    /// Shared samples of a row: neighbouring rows of a warp start in different banks.
    static constexpr int row_size = [] {
        int size = value.exchange_size() > N ? value.exchange_size() : N;
        const int banks = 16 / words;
        while (size % banks != value.threads % banks) ++size;
        return size;
    }();
    /// The block's rows, the twiddle factors and the turns of pairs.
    static constexpr int tables = value.twiddle_count() + N / 2 + 1;
    static constexpr index_t shared_bytes =
        static_cast<index_t>(2 * sizeof(Real)) * (row_size * rows + tables);
    /// Blocks that a multiprocessor's registers and shared memory (of compute capability 9) hold.
    static constexpr int blocks_per_unit = [] {
        const int registers = 2 * words * value.elements + (words == 1 ? 44 : 72);
        const auto by_memory = static_cast<int>(232448 / shared_bytes);
        const int by_registers = 65536 / ((threads + 31) / 32 * 32 * registers);
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
};

/// One row of a job, and the thread of it.
template <class Real>
struct Row {
    index_t plane, y;
    Complex<Real>* shared;  ///< N samples
    int n, thread, threads;
};

template <class Real>
CONVOLUME_DEVICE Complex<Real>* spectrum_row(const RowJob<Real>& job, const Row<Real>& row) {
    index_t slot = job.first_plane + row.plane;
    if (slot >= job.ring) slot %= job.ring;
    return job.spectrum + slot * job.plane_stride + (row.y + job.kept_begin_y) * job.pitch;
}

/// The row of pixels that `row` is loaded from, as an offset in elements; -1: zeros.
template <class Real>
CONVOLUME_DEVICE index_t pixel_row(const RowJob<Real>& job, const Row<Real>& row) {
    const index_t y = job.gather_y == nullptr ? row.y : job.gather_y[row.y];
    return y < 0 ? -1 : row.plane * job.pixels.plane_stride + y * job.pixels.row_stride;
}

/// Calls f(i) for i = begin, begin + step, … < end; loads of `batch` calls are under way at a time:
/// f(i) returns what it loads, put(i, value) uses it.
template <int Batch, class Load, class Put>
CONVOLUME_DEVICE void in_batches(int begin, int end, int step, const Load& load, const Put& put) {
    for (; begin + (Batch - 1) * step < end; begin += Batch * step) {
        decltype(load(0)) values[static_cast<unsigned>(Batch)];
        CONVOLUME_UNROLL
        for (int i = 0; i < Batch; ++i) values[i] = load(begin + i * step);
        CONVOLUME_UNROLL
        for (int i = 0; i < Batch; ++i) put(begin + i * step, values[i]);
    }
    for (; begin < end; begin += step) put(begin, load(begin));
}

/// Two pixels that are loaded together.
template <class S>
struct alignas(2 * sizeof(S)) PixelPair {
    S first, second;
};

/// Pixels of any type into shared memory.
template <class Real, class Context>
CONVOLUME_NOINLINE void load_pixels(const Context context, const RowJob<Real>& job,
                                    const Row<Real> row) {
    const index_t offset = pixel_row(job, row);
    const int loaded = static_cast<int>(offset < 0 ? 0 : job.loaded_x);
    with_pixel(job.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        const S* pixels = static_cast<const S*>(job.pixels.data) + (offset < 0 ? 0 : offset);
        const auto sample = [&](int x) -> Complex<Real> {
            if (x >= loaded) return {0, 0};
            const int element = job.gather_x == nullptr ? x : context.load(job.gather_x + x);
            if (element < 0) return {0, 0};
            return load_sample<Real>(context.load(pixels + element), job.rule);
        };
        const auto put = [&](int i, Complex<Real> value) { row.shared[i] = value; };
        if (job.complex_rows) {
            in_batches<4>(row.thread, row.n, row.threads, sample, put);
        } else if constexpr (!is_complex_pixel<S>) {
            int done = row.thread;
            if (job.gather_x == nullptr &&
                reinterpret_cast<std::uintptr_t>(pixels) % sizeof(PixelPair<S>) == 0) {
                const auto* pairs = reinterpret_cast<const PixelPair<S>*>(pixels);
                in_batches<8>(
                    row.thread, loaded / 2, row.threads, [&](int i) { return pairs[i]; },
                    [&](int i, const PixelPair<S>& pair) {
                        row.shared[i] = {load_sample<Real>(pair.first, job.rule).re,
                                         load_sample<Real>(pair.second, job.rule).re};
                    });
                if (done < loaded / 2) {
                    done += (loaded / 2 - done + row.threads - 1) / row.threads * row.threads;
                }
            }
            in_batches<4>(
                done, row.n, row.threads,
                [&](int i) -> Complex<Real> {
                    return {sample(2 * i).re, sample(2 * i + 1).re};
                },
                put);
        }
    });
}

/// The row in shared memory, whose imaginary parts have the wrong sign, to pixels of any type.
template <class Real, class Context>
CONVOLUME_NOINLINE void store_pixels(const Context context, const RowJob<Real>& job,
                                     const Row<Real> row) {
    ClampTally tally;
    const index_t offset = row.plane * job.pixels.plane_stride + row.y * job.pixels.row_stride;
    const int begin = static_cast<int>(job.kept_begin_x), kept = static_cast<int>(job.kept_x);
    with_pixel(job.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        S* pixels = static_cast<S*>(job.pixels.data) + offset;
        if (job.complex_rows) {
            if constexpr (is_complex_pixel<S>) {
                in_batches<4>(
                    row.thread, kept, row.threads, [&](int x) { return row.shared[begin + x]; },
                    [&](int x, Complex<Real> v) {
                        pixels[x] = store_sample<S>(job.scale * conjugate(v) + job.add, tally);
                    });
            }
            return;
        }
        const Real* values = reinterpret_cast<const Real*>(row.shared) + begin;
        in_batches<8>(
            row.thread, kept, row.threads, [&](int x) { return values[x]; },
            [&](int x, Real v) {
                const Real value = (begin + x) % 2 == 0 ? v : -v;
                pixels[x] =
                    store_sample<S>(Complex<Real>{job.scale * value + job.add.re, 0}, tally);
            });
    });
    if (job.clamped != nullptr) {
        if (tally.low != 0) context.add(job.clamped, tally.low);
        if (tally.high != 0) context.add(job.clamped + 1, tally.high);
    }
}

/// f(j, k) for the pairs (k, n-k), 0 <= k <= n/2, of a thread.
template <int N, int Threads, class F>
CONVOLUME_DEVICE void each_pair(int thread, const F& f) {
    CONVOLUME_UNROLL
    for (int j = 0; j <= (N / 2) / Threads; ++j) {
        const int k = thread + j * Threads;
        if ((j + 1) * Threads <= N / 2 + 1 || k <= N / 2) f(j, k);
    }
}
template <int N, int Threads>
inline constexpr int pairs_of_thread = (N / 2) / Threads + 1;

/// The spectrum X of a real row from that of its N pairs in shared memory, Z: with E = (Z[k] +
/// conj Z[N-k]) / 2 and O = e^{-πik/N} (Z[k] - conj Z[N-k]) / 2i, X[k] = E + O and X[N-k] = conj(E
/// - O).
template <int N, int Threads, class Real>
CONVOLUME_DEVICE void split_row(const RowJob<Real>& job, const Row<Real>& row,
                                const Complex<Real>* turns) {
    Complex<Real>* out = spectrum_row(job, row);
    Samples<Real, pairs_of_thread<N, Threads>> a, b;
    each_pair<N, Threads>(row.thread, [&](int j, int k) {
        a[j] = row.shared[k];
        b[j] = row.shared[k == 0 ? 0 : N - k];
    });
    each_pair<N, Threads>(row.thread, [&](int j, int k) {
        const Complex<Real> other = conjugate(b[j]);
        const Complex<Real> even = Real(0.5) * (a[j] + other);
        const Complex<Real> odd = times_i(Real(-0.5) * (turns[k] * (a[j] - other)));
        out[k] = even + odd;
        out[N - k] = conjugate(even - odd);
    });
}

/// The inverse of split_row up to a factor 2, conjugated (so that a forward transform inverts it):
/// with S = X[k] + conj X[N-k] and U = i e^{πik/N} (X[k] - conj X[N-k]), Z[k] = S + U and Z[N-k] =
/// conj(S - U). X[0] and X[N] count as real.
template <int N, int Threads, class Real, class Context>
CONVOLUME_DEVICE void merge_row(const Context& context, const RowJob<Real>& job,
                                const Row<Real>& row, const Complex<Real>* turns) {
    const Complex<Real>* in = spectrum_row(job, row);
    Samples<Real, pairs_of_thread<N, Threads>> a, b;
    each_pair<N, Threads>(row.thread, [&](int j, int k) {
        a[j] = context.load(in + k);
        b[j] = context.load(in + (N - k));
    });
    each_pair<N, Threads>(row.thread, [&](int j, int k) {
        if (k == 0) a[j].im = b[j].im = 0;
        const Complex<Real> other = conjugate(b[j]);
        const Complex<Real> sum = a[j] + other;
        const Complex<Real> turned = times_i(conjugate(turns[k]) * (a[j] - other));
        row.shared[k] = conjugate(sum + turned);
        if (k != 0) row.shared[N - k] = sum - turned;
    });
}

/// The body of the kernel for rows of N complex samples. Each block takes groups of rows in turn.
template <class Real, int N, class Context>
CONVOLUME_DEVICE void row_pass(const Context& context, const RowJob<Real>& job) {
    using Shape = RowShape<Real, N>;
    using Fft = Stages<Real, Shape>;
    constexpr int last = Shape::value.last();

    const int row_in_group = context.thread() / Shape::value.threads;
    const int thread = context.thread() % Shape::value.threads;
    auto* const memory = reinterpret_cast<Complex<Real>*>(context.shared());
    Complex<Real>* const shared = memory + row_in_group * Shape::row_size;
    Complex<Real>* const twiddles = memory + Shape::rows * Shape::row_size;
    const Complex<Real>* const turns = twiddles + Shape::value.twiddle_count();
    copy_table(context, twiddles, job.twiddles, Shape::tables, Shape::threads);
    context.sync();
    const WholeLane<Real, Context> lane{context, shared};
    const index_t count = job.planes * job.rows;

    for (index_t first = context.block() * Shape::rows; first < count;
         first += context.blocks() * Shape::rows) {
        const index_t index = first + row_in_group;
        const bool inside = index < count;
        const index_t plane = job.planes == 1 ? 0 : index / job.rows;
        const Row<Real> row{plane,  index - plane * job.rows, shared, N,
                            thread, Shape::value.threads};
        typename Fft::Held v;

        if (job.direct_load) {
            // Complex samples as they are.
            const Complex<Real>* source = nullptr;
            int loaded = 0;
            if (inside && job.inverse) {
                source = spectrum_row(job, row);
                loaded = N;
            } else if (inside) {
                const index_t offset = pixel_row(job, row);
                source = static_cast<const Complex<Real>*>(job.pixels.data) +
                         (job.complex_rows ? offset : offset / 2);
                loaded = static_cast<int>(offset < 0         ? 0
                                          : job.complex_rows ? job.loaded_x
                                                             : job.loaded_x / 2);
            }
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                v[sample] = {0, 0};
                if (position < loaded) v[sample] = context.load(source + position);
            });
            if (job.inverse) {
                Fft::template for_each<0>(thread,
                                          [&](int sample, int) { v[sample].im = -v[sample].im; });
            }
        } else {
            context.sync();
            if (inside) {
                if (job.inverse) {
                    merge_row<N, Shape::value.threads>(context, job, row, turns);
                } else {
                    load_pixels(context, job, row);
                }
            }
            context.sync();
            Fft::template for_each<0>(
                thread, [&](int sample, int position) { v[sample] = shared[position]; });
        }

        Fft::forward(lane, thread, v, twiddles);

        if (job.direct_store) {
            if (!inside) continue;
            if (job.inverse) {
                const int each = job.complex_rows ? 1 : 2;  // pixels of a sample
                const index_t offset =
                    row.plane * job.pixels.plane_stride + row.y * job.pixels.row_stride;
                auto* target = static_cast<Complex<Real>*>(job.pixels.data) + offset / each;
                const int begin = static_cast<int>(job.kept_begin_x / each);
                const int kept = static_cast<int>(job.kept_x / each);
                Fft::template for_each<last>(thread, [&](int sample, int position) {
                    const int at = position - begin;
                    const Complex<Real> value{job.scale * v[sample].re + job.add.re,
                                              job.add.im - job.scale * v[sample].im};
                    if (at >= 0 && at < kept) target[at] = value;
                });
            } else {
                Complex<Real>* target = spectrum_row(job, row);
                Fft::template for_each<last>(
                    thread, [&](int sample, int position) { target[position] = v[sample]; });
            }
        } else {
            context.sync();
            Fft::template for_each<last>(
                thread, [&](int sample, int position) { shared[position] = v[sample]; });
            context.sync();
            if (inside) {
                if (job.inverse) {
                    store_pixels(context, job, row);
                } else {
                    split_row<N, Shape::value.threads>(job, row, turns);
                }
            }
        }
    }
}

}  // namespace convolume::gpu
