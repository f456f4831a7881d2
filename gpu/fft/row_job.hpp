// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job of a CUDA kernel over rows, and the functions that move pixels of any type between device
// memory and a row in shared memory.
//
// Each CUDA kernel over rows has a copy of these functions in its machine code, so they are kept
// small. The type is looked up once for a batch of pixels, and loops are not unrolled beyond a
// batch.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "convolume/error.hpp"
#include "gpu/fft/pass_types.hpp"
#include "gpu/fft/pixel.hpp"

namespace convolume::gpu {

template <class Real>
struct RowJob {
    bool inverse = false;
    bool complex_rows = false;
    /// Whether samples move between memory and registers, without shared memory.
    bool loads_directly = false, stores_directly = false;
    /// Whether floats of 16 bits can move in pairs likewise. Only passes over planes do that.
    bool loads_short_pairs = false, stores_short_pairs = false;
    index_t planes = 1, rows = 1;  ///< numbers of planes, and of rows of a plane
    PixelRows pixels;
    // Members of forward transforms.
    index_t loaded_x = 1;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
    LoadRule<Real> rule;
    // Members of inverse transforms.
    index_t kept_begin_y = 0, kept_begin_x = 0, kept_x = 1;
    Complex<Real> add{0, 0};
    Real scale = 1;
    unsigned long long* clamped = nullptr;
    // Members of the spectrum.
    Complex<Real>* spectrum = nullptr;
    index_t plane_stride = 0, pitch = 0, first_plane = 0, ring = 1;  // first_plane < ring
    /// Twiddle factors of the plan, followed by the twiddle factors of pairs (plan.hpp).
    const Complex<Real>* twiddles = nullptr;
};

inline bool is_aligned(const PixelRows& pixels, std::size_t size) {
    return reinterpret_cast<std::uintptr_t>(pixels.data) % size == 0;
}
/// Whether all rows begin with a pair of pixels that is aligned.
inline bool has_aligned_pairs(const PixelRows& pixels) {
    return pixels.row_stride % 2 == 0 && pixels.plane_stride % 2 == 0 &&
           is_aligned(pixels, 2 * size_of(pixels.type));
}

/// Whether rows of pixels can be read and written as the complex samples of the CUDA kernel.
template <class Real>
bool has_sample_layout(const PixelRows& pixels, bool complex_rows) {
    if (!complex_rows) return pixels.type == pixel_type_of_v<Real> && has_aligned_pairs(pixels);
    return pixels.type == pixel_type_of_v<std::complex<Real>> &&
           is_aligned(pixels, sizeof(std::complex<Real>));
}
inline bool has_short_pairs(const PixelRows& pixels, bool complex_rows) {
    return pixels.storage != SampleStorage::plain && !complex_rows && has_aligned_pairs(pixels);
}

template <class Real>
RowJob<Real> row_job(bool complex_rows, const PixelRows& pixels, index_t planes,
                     const SpectrumPlanes<Real>& spectrum) {
    if (!complex_rows && is_complex(pixels.type)) {
        throw InternalError("complex pixels in real rows");
    }
    if (planes > spectrum.ring) {
        throw InternalError(message(planes, " planes in a ring of ", spectrum.ring));
    }
    RowJob<Real> job;
    job.complex_rows = complex_rows;
    job.planes = planes;
    job.pixels = pixels;
    job.spectrum = reinterpret_cast<Complex<Real>*>(spectrum.data);
    job.plane_stride = spectrum.plane_stride;
    job.pitch = spectrum.pitch;
    job.first_plane = spectrum.first_plane % spectrum.ring;
    job.ring = spectrum.ring;
    return job;
}

/// Returns the job of forward_rows (passes.hpp), without tables.
template <class Real>
RowJob<Real> forward_job(index_t length, bool complex_rows, const RowSource& source,
                         const SpectrumPlanes<Real>& target) {
    auto job = row_job(complex_rows, source.pixels, source.planes, target);
    job.rows = source.loaded_y;
    job.loaded_x = std::min(source.loaded_x, length);
    job.gather_y = source.gather_y;
    job.gather_x = source.gather_x;
    job.rule = {static_cast<Real>(source.subtract), source.nonfinite_to_zero};
    const bool as_they_are = source.gather_x == nullptr && source.subtract == 0 &&
                             !source.nonfinite_to_zero && (complex_rows || job.loaded_x % 2 == 0);
    job.loads_directly = has_sample_layout<Real>(source.pixels, complex_rows) && as_they_are;
    job.loads_short_pairs = has_short_pairs(source.pixels, complex_rows) && as_they_are;
    job.stores_directly = complex_rows;
    return job;
}

/// Returns the job of inverse_rows, without tables.
template <class Real>
RowJob<Real> inverse_job(index_t length, bool complex_rows, const SpectrumPlanes<Real>& source,
                         const RowTarget& target, double scale) {
    if (target.kept_begin_x < 0 || target.kept_begin_x + target.kept_x > length) {
        throw InternalError(message("samples ", target.kept_begin_x, " to ",
                                    target.kept_begin_x + target.kept_x, " of rows of ", length));
    }
    if (complex_rows && !is_complex(target.pixels.type)) {
        throw InternalError("real pixels for complex rows");
    }
    auto job = row_job(complex_rows, target.pixels, target.planes, source);
    job.inverse = true;
    job.rows = target.kept_y;
    job.kept_begin_y = target.kept_begin_y;
    job.kept_begin_x = target.kept_begin_x;
    job.kept_x = target.kept_x;
    job.add = {static_cast<Real>(target.add_real),
               static_cast<Real>(complex_rows ? target.add_imaginary : target.add_real)};
    job.scale = static_cast<Real>(scale);
    job.clamped = target.clamped;
    job.loads_directly = complex_rows;
    const bool in_pairs = complex_rows || (target.kept_begin_x % 2 == 0 && target.kept_x % 2 == 0);
    job.stores_directly = has_sample_layout<Real>(target.pixels, complex_rows) && in_pairs;
    job.stores_short_pairs = has_short_pairs(target.pixels, complex_rows) && in_pairs;
    return job;
}

/// One row of a job, and one of its threads.
template <class Real>
struct ThreadRow {
    index_t plane, y;
    Complex<Real>* shared;  ///< N samples in shared memory
    int n, thread, threads;
};

/// Offset of a row of zeros. Offsets of pixels may be negative, since planes may lie backward.
inline constexpr index_t offset_of_zeros = std::numeric_limits<index_t>::min();

/// Returns the row of pixels that `row` is loaded from, as an offset in elements.
template <class Real>
CONVOLUME_DEVICE index_t pixel_row_offset(const RowJob<Real>& job, const ThreadRow<Real>& row) {
    const index_t y = job.gather_y == nullptr ? row.y : job.gather_y[row.y];
    return y < 0 ? offset_of_zeros
                 : row.plane * job.pixels.plane_stride + y * job.pixels.row_stride;
}

/// Calls put(i, load(i)) for i = begin, begin + step, … < end, with `Batch` loads in flight at a
/// time.
template <int Batch, class Load, class Put>
CONVOLUME_DEVICE void load_in_batches(int begin, int end, int step, const Load& load,
                                      const Put& put) {
    CONVOLUME_NO_UNROLL
    for (; begin + (Batch - 1) * step < end; begin += Batch * step) {
        decltype(load(0)) values[static_cast<unsigned>(Batch)];
        CONVOLUME_UNROLL
        for (int i = 0; i < Batch; ++i) values[i] = load(begin + i * step);
        CONVOLUME_UNROLL
        for (int i = 0; i < Batch; ++i) put(begin + i * step, values[i]);
    }
    CONVOLUME_NO_UNROLL
    for (; begin < end; begin += step) put(begin, load(begin));
}

/// Pixels that a thread has in flight at a time.
inline constexpr int pixel_batch = 8;

/// Two pixels that are loaded together.
template <class S>
struct alignas(2 * sizeof(S)) PixelPair {
    S first, second;
};

/// Pairs of pixels that a thread loads at a time: those that fit in few registers. A CUDA kernel
/// keeps its own values beside the registers of the functions that it calls, or spills them.
template <class S>
inline constexpr int pairs_at_a_time = sizeof(S) <= 2   ? 8
                                       : sizeof(S) == 4 ? 4
                                                        : 2;

/// Loads real pixels, two to a complex sample, as far as they fill whole batches of all threads.
/// Returns the number of pixels loaded.
template <class Real, class Context>
CONVOLUME_DEVICE int load_pixel_pairs(const Context& context, const RowJob<Real>& job,
                                      const ThreadRow<Real>& row, const void* pixels, int loaded) {
    const LoadRule<Real> rule = job.rule;
    int loaded_so_far = 0;
    with_real_pixel(job.pixels.type, job.pixels.storage, [&](auto tag) {
        using S = decltype(tag);
        constexpr int count = pairs_at_a_time<S>;
        const int batch = count * row.threads;
        CONVOLUME_NO_UNROLL
        for (; loaded_so_far + batch <= loaded / 2; loaded_so_far += batch) {
            // The compiler forgets the values, so that it does not keep the addresses of a batch in
            // registers.
            const int first = context.forget(loaded_so_far + row.thread),
                      step = context.forget(row.threads);
            const auto* from = static_cast<const PixelPair<S>*>(pixels) + first;
            PixelPair<S> pairs[static_cast<unsigned>(count)];
            CONVOLUME_UNROLL
            for (int i = 0; i < count; ++i) pairs[i] = from[i * step];
            CONVOLUME_UNROLL
            for (int i = 0; i < count; ++i) {
                row.shared[first + i * step] = {load_sample<Real>(pairs[i].first, rule).re,
                                                load_sample<Real>(pairs[i].second, rule).re};
            }
        }
    });
    return 2 * loaded_so_far;
}

/// Reads a pixel that no other thread block writes while the CUDA kernel runs.
template <class Context, class S>
CONVOLUME_DEVICE S load_element(const Context& context, const S* pixel) {
    if constexpr (is_short_pixel<S>)
        return {context.load(&pixel->word)};
    else
        return context.load(pixel);
}

/// Loads real pixels from sample `done` of the row on, and zeros up to its end.
template <class Real, class Context>
CONVOLUME_DEVICE void load_reals(const Context& context, const RowJob<Real>& job,
                                 const ThreadRow<Real>& row, const void* pixels, int loaded,
                                 int loaded_so_far) {
    // Less than pixel_batch, since indices of gathers are in flight, too.
    constexpr int batch = pixel_batch / 2;
    const LoadRule<Real> rule = job.rule;
    const PixelType type = job.pixels.type;
    const SampleStorage storage = job.pixels.storage;
    const std::int32_t* const gather = job.gather_x;
    const int reals_per_sample =
        job.complex_rows ? 2 : 1;  // number of reals in a sample in shared memory
    const int samples = 2 / reals_per_sample * row.n;
    Real* const reals = reinterpret_cast<Real*>(row.shared);
    CONVOLUME_NO_UNROLL
    for (loaded_so_far += row.thread; loaded_so_far < samples;
         loaded_so_far += batch * row.threads) {
        const int first = context.forget(loaded_so_far), step = context.forget(row.threads);
        int elements[batch];  // indices of elements; -1: zero
        CONVOLUME_UNROLL
        for (int i = 0; i < batch; ++i) {
            const int x = first + i * step;
            elements[i] = x < loaded ? x : -1;
        }
        if (gather != nullptr) {
            CONVOLUME_UNROLL
            for (int i = 0; i < batch; ++i)
                if (elements[i] >= 0) elements[i] = context.load(gather + elements[i]);
        }
        with_real_pixel(type, storage, [&](auto tag) {
            using S = decltype(tag);
            S values[batch];
            CONVOLUME_UNROLL
            for (int i = 0; i < batch; ++i) {
                values[i] = S{};
                if (elements[i] >= 0)
                    values[i] = load_element(context, static_cast<const S*>(pixels) + elements[i]);
            }
            CONVOLUME_UNROLL
            for (int i = 0; i < batch; ++i) {
                const int x = first + i * step;
                if (x >= samples) continue;
                reals[x * reals_per_sample] =
                    elements[i] < 0 ? Real(0) : load_sample<Real>(values[i], rule).re;
            }
        });
    }
    if (!job.complex_rows) return;
    CONVOLUME_NO_UNROLL
    for (int x = row.thread; x < row.n; x += row.threads) row.shared[x].im = 0;
}

/// Loads complex pixels.
template <class Real, class Context>
CONVOLUME_DEVICE void load_complex(const Context& context, const RowJob<Real>& job,
                                   const ThreadRow<Real>& row, const void* pixels, int loaded) {
    const LoadRule<Real> rule = job.rule;
    const std::int32_t* const gather = job.gather_x;
    with_complex_pixel(job.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        load_in_batches<4>(
            row.thread, row.n, row.threads,
            [&](int x) -> Complex<Real> {
                if (x >= loaded) return {0, 0};
                const int element = gather == nullptr ? x : context.load(gather + x);
                if (element < 0) return {0, 0};
                return load_sample<Real>(context.load(static_cast<const S*>(pixels) + element),
                                         rule);
            },
            [&](int x, Complex<Real> value) { row.shared[x] = value; });
    });
}

/// Loads pixels of any type into shared memory.
template <class Real, class Context>
CONVOLUME_NOINLINE void load_pixels(const Context context, const RowJob<Real>& job,
                                    const ThreadRow<Real> row) {
    const index_t offset = pixel_row_offset(job, row);
    const bool is_zero = offset == offset_of_zeros;
    const int loaded = static_cast<int>(is_zero ? 0 : job.loaded_x);
    const auto bytes = static_cast<unsigned>(pixel_bytes(job.pixels.type));
    const char* const pixels =
        static_cast<const char*>(job.pixels.data) + (is_zero ? 0 : offset) * bytes;
    if (has_complex_pixels(job.pixels.type)) {
        load_complex(context, job, row, pixels, loaded);
        return;
    }
    // The bytes of a pair are a power of two.
    const bool is_aligned = (reinterpret_cast<std::uintptr_t>(pixels) & (2 * bytes - 1)) == 0;
    const bool pairs = is_aligned && job.gather_x == nullptr && !job.complex_rows;
    const int loaded_so_far = pairs ? load_pixel_pairs(context, job, row, pixels, loaded) : 0;
    load_reals(context, job, row, pixels, loaded, loaded_so_far);
}

/// Stores the row in shared memory, whose imaginary parts have the wrong sign, as real pixels from
/// `offset` on.
template <class Real, class Context>
CONVOLUME_DEVICE void store_reals(const Context& context, const RowJob<Real>& job,
                                  const ThreadRow<Real>& row, index_t offset, ClampTally& tally) {
    const int begin = static_cast<int>(job.kept_begin_x), kept = static_cast<int>(job.kept_x);
    const PixelType type = job.pixels.type;
    const SampleStorage storage = job.pixels.storage;
    const Real add = job.add.re, scale = job.scale;
    void* const data = job.pixels.data;
    const Real* const reals = reinterpret_cast<const Real*>(row.shared) + begin;
    CONVOLUME_NO_UNROLL
    for (int next = row.thread; next < kept; next += pixel_batch * row.threads) {
        const int first = context.forget(next), step = context.forget(row.threads);
        Real values[pixel_batch];
        CONVOLUME_UNROLL
        for (int i = 0; i < pixel_batch; ++i) {
            const int x = first + i * step < kept ? first + i * step : first;
            const Real value = (begin + x) % 2 == 0 ? reals[x] : -reals[x];
            values[i] = scale * value + add;
        }
        with_real_pixel(type, storage, [&](auto tag) {
            using S = decltype(tag);
            S* const to = static_cast<S*>(data) + offset + first;
            CONVOLUME_UNROLL
            for (int i = 0; i < pixel_batch; ++i) {
                if (first + i * step >= kept) continue;
                to[i * step] = store_sample<S>(Complex<Real>{values[i], 0}, tally);
            }
        });
    }
}

/// Stores the row in shared memory as complex pixels.
template <class Real>
CONVOLUME_DEVICE void store_complex(const RowJob<Real>& job, const ThreadRow<Real>& row,
                                    index_t offset, ClampTally& tally) {
    const int begin = static_cast<int>(job.kept_begin_x), kept = static_cast<int>(job.kept_x);
    const Complex<Real> add = job.add;
    const Real scale = job.scale;
    void* const data = job.pixels.data;
    with_complex_pixel(job.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        S* const pixels = static_cast<S*>(data) + offset;
        load_in_batches<4>(
            row.thread, kept, row.threads, [&](int x) { return row.shared[begin + x]; },
            [&](int x, Complex<Real> v) {
                pixels[x] = store_sample<S>(scale * conjugate(v) + add, tally);
            });
    });
}

/// Stores the row in shared memory as pixels of any type.
template <class Real, class Context>
CONVOLUME_NOINLINE void store_pixels(const Context context, const RowJob<Real>& job,
                                     const ThreadRow<Real> row) {
    const index_t offset = row.plane * job.pixels.plane_stride + row.y * job.pixels.row_stride;
    ClampTally tally;
    if (job.complex_rows) {
        store_complex(job, row, offset, tally);  // complex pixels are never clamped
        return;
    }
    store_reals(context, job, row, offset, tally);
    if (job.clamped != nullptr) {
        if (tally.low != 0) context.add(job.clamped, tally.low);
        if (tally.high != 0) context.add(job.clamped + 1, tally.high);
    }
}

}  // namespace convolume::gpu
