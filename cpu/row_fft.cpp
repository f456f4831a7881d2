// SPDX-License-Identifier: Apache-2.0
#include "cpu/row_fft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "convolume/error.hpp"

// Vectors are kept in arrays, which scalable vectors do not allow. The disabled targets lie between
// enabled ones and gain nothing here.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/row_fft.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

// gather_rows: copies sample i of row r to transposed[i * width + r], i < count; scatter_rows
// copies back. Vectors move two samples at a time, so that rows need room for an even number of
// samples.
//
// combine: replaces a = z[k] and b = z[half - k] as follows.
//       S = a + conj b,  T = twiddle (a - conj b)
//       z[k] = scale S + T,  z[half - k] = conj(scale S - T)

#if HWY_TARGET == HWY_SCALAR

void move(const double* from, double* to) {
    std::memcpy(to, from, sizeof(double));
}
void gather_rows(const double* const* rows, index_t width, index_t count, double* transposed) {
    for (index_t i = 0; i < count; ++i)
        for (index_t r = 0; r < width; ++r) move(rows[r] + i, transposed + i * width + r);
}
void scatter_rows(const double* transposed, index_t width, index_t count, double* const* rows) {
    for (index_t i = 0; i < count; ++i)
        for (index_t r = 0; r < width; ++r) move(transposed + i * width + r, rows[r] + i);
}
void combine(float* transposed, index_t width, index_t half, const float* twiddles,
             float twiddle_re, float twiddle_im, float scale) {
    for (index_t k = 0; 2 * k <= half; ++k) {
        const float re = twiddle_re * twiddles[2 * k], im = twiddle_im * twiddles[2 * k + 1];
        for (index_t i = 0; i < 2 * width; i += 2) {
            float* const low = transposed + k * 2 * width + i;
            float* const high = transposed + (half - k) * 2 * width + i;
            const float sum_re = scale * (low[0] + high[0]), sum_im = scale * (low[1] - high[1]);
            const float away_re = low[0] - high[0], away_im = low[1] + high[1];
            const float turned_re = away_re * re - away_im * im;
            const float turned_im = away_im * re + away_re * im;
            low[0] = sum_re + turned_re;
            low[1] = sum_im + turned_im;
            high[0] = sum_re - turned_re;
            high[1] = turned_im - sum_im;
        }
    }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// A complex sample moves as one double; a vector has at most 8 of them.
using SampleTag = hn::CappedTag<double, 8>;

// Loads two samples of every second row: rows[0], rows[2] …
template <class D>
HWY_INLINE hn::Vec<D> load_pairs(D d, const double* const* rows, index_t at) {
    constexpr std::size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes == 2) {
        return hn::LoadU(d, rows[0] + at);
    } else {
        const hn::Half<D> half;
        return hn::Combine(d, load_pairs(half, rows + lanes / 2, at), load_pairs(half, rows, at));
    }
}
template <class D>
HWY_INLINE void store_pairs(D d, hn::Vec<D> pairs, double* const* rows, index_t at) {
    constexpr std::size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes == 2) {
        hn::StoreU(pairs, d, rows[0] + at);
    } else {
        const hn::Half<D> half;
        store_pairs(half, hn::LowerHalf(half, pairs), rows, at);
        store_pairs(half, hn::UpperHalf(half, pairs), rows + lanes / 2, at);
    }
}

void gather_rows(const double* const* rows, index_t width, index_t count, double* transposed) {
    const SampleTag d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    for (index_t i = 0; i < count; i += 2)
        for (index_t r = 0; r < width; r += lanes) {
            const auto even = load_pairs(d, rows + r, i);
            const auto odd = load_pairs(d, rows + r + 1, i);
            hn::Store(hn::InterleaveLower(d, even, odd), d, transposed + i * width + r);
            hn::Store(hn::InterleaveUpper(d, even, odd), d, transposed + (i + 1) * width + r);
        }
}
void scatter_rows(const double* transposed, index_t width, index_t count, double* const* rows) {
    const SampleTag d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    for (index_t i = 0; i < count; i += 2)
        for (index_t r = 0; r < width; r += lanes) {
            const auto first = hn::Load(d, transposed + i * width + r);
            const auto second = hn::Load(d, transposed + (i + 1) * width + r);
            store_pairs(d, hn::InterleaveLower(d, first, second), rows + r, i);
            store_pairs(d, hn::InterleaveUpper(d, first, second), rows + r + 1, i);
        }
}

void combine(float* transposed, index_t width, index_t half, const float* twiddles,
             float twiddle_re, float twiddle_im, float scale) {
    const hn::CappedTag<float, 16> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    alignas(64) float minus[16];
    for (int i = 0; i < 16; ++i) minus[i] = i % 2 == 0 ? 0.0F : -0.0F;
    const auto conjugate = hn::Load(d, minus);
    const auto factor = hn::Set(d, scale);
    for (index_t k = 0; 2 * k <= half; ++k) {
        float* const low = transposed + k * 2 * width;
        float* const high = transposed + (half - k) * 2 * width;
        const auto re = hn::Set(d, twiddle_re * twiddles[2 * k]);
        // (im, -im) of the twiddle in alternate lanes; NegMulAdd subtracts the product with it.
        const auto im = hn::Xor(hn::Set(d, twiddle_im * twiddles[2 * k + 1]), conjugate);
        for (index_t i = 0; i < 2 * width; i += lanes) {
            const auto a = hn::Load(d, low + i);
            const auto b = hn::Xor(hn::Load(d, high + i), conjugate);
            const auto sum = hn::Mul(factor, hn::Add(a, b));
            const auto difference = hn::Sub(a, b);
            const auto turned =
                hn::NegMulAdd(hn::Reverse2(d, difference), im, hn::Mul(difference, re));
            hn::Store(hn::Add(sum, turned), d, low + i);
            hn::Store(hn::Xor(hn::Sub(sum, turned), conjugate), d, high + i);
        }
    }
}

#endif

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {

HWY_EXPORT(gather_rows);
HWY_EXPORT(scatter_rows);
HWY_EXPORT(combine);

index_t even_half(index_t length) {
    if (length < 2 || length % 2 != 0)
        throw InvalidArgument(message("no transform of real rows of ", length,
                                      " samples: lengths are even and positive"));
    return length / 2;
}

// Returns the number of rows of scratch memory for a spectrum: half + 1, rounded up to an even
// number.
index_t transposed_rows(index_t half) {
    return round_up(half + 1, index_t{2});
}

// Returns pointers to all rows. Missing rows are read from the first one, and written to `spare`.
template <class Sample>
std::array<Sample*, RowFft::most_rows> row_pointers(Sample* first, index_t distance, index_t rows,
                                                    Sample* spare) {
    std::array<Sample*, RowFft::most_rows> all{};
    for (index_t r = 0; r < RowFft::most_rows; ++r)
        all[static_cast<std::size_t>(r)] = r < rows ? first + r * distance : spare;
    return all;
}

}  // namespace

index_t RowFft::scratch_samples(index_t length) {
    const index_t half = length / 2;
    return transposed_rows(half) * most_rows + ColumnFft<float>::scratch_samples(half) +
           transposed_rows(half);
}

RowFft::RowFft(index_t length) : half_(even_half(length)), columns_(half_) {
    for (index_t k = 0; 2 * k <= half_; ++k) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
        twiddles_.push_back(static_cast<float>(-std::sin(angle)));
        twiddles_.push_back(static_cast<float>(std::cos(angle)));
    }
}

void RowFft::forward(const float* samples, index_t distance, index_t rows, Complex* spectra,
                     index_t pitch, Complex* scratch) const {
    const index_t width = rows > most_rows / 2 ? most_rows : most_rows / 2;
    Complex* const transposed = scratch;
    Complex* const column_scratch = scratch + transposed_rows(half_) * most_rows;
    Complex* const spare = column_scratch + ColumnFft<float>::scratch_samples(half_);
    auto* const values = reinterpret_cast<double*>(transposed);
    const auto* const first = reinterpret_cast<const double*>(samples);
    HWY_DYNAMIC_DISPATCH(gather_rows)
    (row_pointers(first, distance / 2, rows, first).data(), width, half_, values);
    columns_.forward({transposed, width, half_}, {transposed, width, 0, half_}, width,
                     column_scratch);
    std::copy_n(transposed, width, transposed + half_ * width);
    std::fill_n(transposed + (half_ + 1) * width, (transposed_rows(half_) - half_ - 1) * width,
                Complex());
    HWY_DYNAMIC_DISPATCH(combine)
    (reinterpret_cast<float*>(transposed), width, half_, twiddles_.data(), 0.5F, -0.5F, 0.5F);
    HWY_DYNAMIC_DISPATCH(scatter_rows)
    (values, width, half_ + 1,
     row_pointers(reinterpret_cast<double*>(spectra), pitch, rows, reinterpret_cast<double*>(spare))
         .data());
}

void RowFft::inverse(const Complex* spectra, index_t pitch, index_t rows, float* samples,
                     index_t distance, Complex* scratch) const {
    const index_t width = rows > most_rows / 2 ? most_rows : most_rows / 2;
    Complex* const transposed = scratch;
    Complex* const column_scratch = scratch + transposed_rows(half_) * most_rows;
    Complex* const spare = column_scratch + ColumnFft<float>::scratch_samples(half_);
    auto* const values = reinterpret_cast<double*>(transposed);
    const auto* const first = reinterpret_cast<const double*>(spectra);
    HWY_DYNAMIC_DISPATCH(gather_rows)
    (row_pointers(first, pitch, rows, first).data(), width, half_ + 1, values);
    HWY_DYNAMIC_DISPATCH(combine)
    (reinterpret_cast<float*>(transposed), width, half_, twiddles_.data(), 1, 1, 1);
    columns_.inverse({transposed, width, half_}, {transposed, width, 0, half_}, width,
                     column_scratch);
    HWY_DYNAMIC_DISPATCH(scatter_rows)
    (values, width, half_,
     row_pointers(reinterpret_cast<double*>(samples), distance / 2, rows,
                  reinterpret_cast<double*>(spare))
         .data());
}

}  // namespace convolume::cpu
#endif
