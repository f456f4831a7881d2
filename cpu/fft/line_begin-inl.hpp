// SPDX-License-Identifier: Apache-2.0
// The first step of transforms of lines: transforms of as many samples as there are columns in a
// tile. Compiled once for each instruction set that includes it.

#if defined(CONVOLUME_CPU_FFT_LINE_BEGIN_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_CPU_FFT_LINE_BEGIN_INL_HPP
#undef CONVOLUME_CPU_FFT_LINE_BEGIN_INL_HPP
#else
#define CONVOLUME_CPU_FFT_LINE_BEGIN_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "cpu/fft/blocks-inl.hpp"
#include "cpu/fft/butterflies-inl.hpp"
#include "cpu/fft/line_columns.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

/// Lanes of the vectors that rows of `width` real numbers of a tile consist of.
template <int width, class Real>
inline constexpr int lanes_of =
    static_cast<int>(hn::MaxLanes(hn::CappedTag<Real, static_cast<std::size_t>(width)>()));

#if HWY_TARGET == HWY_SCALAR

template <class D>
HWY_INLINE hn::Vec<D> even_of_both(D, hn::Vec<D> a, hn::Vec<D>) {
    return a;
}
template <class D>
HWY_INLINE hn::Vec<D> odd_of_both(D, hn::Vec<D>, hn::Vec<D> b) {
    return b;
}
template <int count, class D>
HWY_INLINE void transpose_groups(D, hn::Vec<D>*) {}

#else

// Returns a[0], b[0], a[2], b[2], …
template <class D>
HWY_INLINE hn::Vec<D> even_of_both([[maybe_unused]] D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hn::MaxLanes(D()) == 1) {
        return a;
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
        return hn::InterleaveLower(d, a, b);
    } else {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
        if constexpr (sizeof(a.raw) == 64)
            return hn::Vec<D>{_mm512_mask_moveldup_ps(a.raw, 0xAAAA, b.raw)};
        else if constexpr (sizeof(a.raw) == 32)
            return hn::Vec<D>{_mm256_mask_moveldup_ps(a.raw, 0xAA, b.raw)};
        else
#endif
            return hn::OddEven(hn::DupEven(b), a);
    }
}
// Returns a[1], b[1], a[3], b[3], …
template <class D>
HWY_INLINE hn::Vec<D> odd_of_both([[maybe_unused]] D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hn::MaxLanes(D()) == 1) {
        return b;
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
        return hn::InterleaveUpper(d, a, b);
    } else {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
        if constexpr (sizeof(a.raw) == 64)
            return hn::Vec<D>{_mm512_mask_movehdup_ps(b.raw, 0x5555, a.raw)};
        else if constexpr (sizeof(a.raw) == 32)
            return hn::Vec<D>{_mm256_mask_movehdup_ps(b.raw, 0x55, a.raw)};
        else
#endif
            return hn::OddEven(b, hn::DupOdd(a));
    }
}
template <int count, class D>
HWY_INLINE void transpose_groups(D d, hn::Vec<D>* x) {
    constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
    CONVOLUME_UNROLL
    for (int j = 0; j < count; j += lanes) transpose_square(d, x + j);
}

#endif

/// Loads complex samples to lanes in the order of column_in_lane().
template <class D>
HWY_INLINE ComplexVector<D> load_line(D d, const hn::TFromD<D>* from) {
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + hn::MaxLanes(D()));
    return {even_of_both(d, a, b), odd_of_both(d, a, b)};
}
/// Stores complex samples whose lanes have the order of column_in_lane().
template <class D>
HWY_INLINE void store_line(D d, const ComplexVector<D>& value, hn::TFromD<D>* to) {
    hn::StoreU(even_of_both(d, value.re, value.im), d, to);
    hn::StoreU(odd_of_both(d, value.re, value.im), d, to + hn::MaxLanes(D()));
}

/// Transforms columns of a line, one in each lane, and multiplies them by twiddle factors. Vector
/// j + i of the results, j a multiple of the lanes, holds samples j, j + 1, … of the column of lane
/// i, in the order of the lanes of a tile. Inverse transforms exchange real and imaginary parts.
template <int width, bool inverse, class D, class Real>
HWY_INLINE void begin_columns(D d, const Real* from, index_t row_length, const Real* twiddles,
                              hn::Vec<D>* re, hn::Vec<D>* im) {
    constexpr index_t lanes = hn::MaxLanes(D());
    constexpr index_t tile_lanes = lanes_of<width, Real>;
    ComplexVector<D> x[static_cast<unsigned>(width)];
    CONVOLUME_UNROLL
    for (int i = 0; i < width; ++i, from += 2 * row_length) {
        const ComplexVector<D> sample = load_line(d, from);
        x[i] = inverse ? ComplexVector<D>{sample.im, sample.re} : sample;
    }
    dft<width>(d, x);
    CONVOLUME_UNROLL
    for (int k = 1; k < width; ++k, twiddles += 2 * lanes)
        x[k] = multiply<D>(x[k], {hn::Load(d, twiddles), hn::Load(d, twiddles + lanes)});
    CONVOLUME_UNROLL
    for (int k = 0; k < width; ++k) {
        const auto from_k =
            static_cast<unsigned>(k - k % tile_lanes + column_in_lane(k % tile_lanes, tile_lanes));
        re[k] = x[from_k].re;
        im[k] = x[from_k].im;
    }
    transpose_groups<width>(d, re);
    transpose_groups<width>(d, im);
}

/// Transforms columns of a line to the rows of a tile from `to` on.
template <int width, bool inverse, class D, class Real>
HWY_INLINE void begin_to_tile(D d, const Real* from, index_t row_length, const Real* twiddles,
                              Real* to) {
    constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
    hn::Vec<D> re[static_cast<unsigned>(width)], im[static_cast<unsigned>(width)];
    begin_columns<width, inverse>(d, from, row_length, twiddles, re, im);
    CONVOLUME_UNROLL
    for (int i = 0; i < lanes; ++i) {
        Real* const row = to + column_in_lane(i, lanes) * 2 * width;
        CONVOLUME_UNROLL
        for (int j = 0; j < width; j += lanes) {
            hn::Store(re[j + i], d, row + j);
            hn::Store(im[j + i], d, row + width + j);
        }
    }
}

/// Transforms all columns of a line to a tile of `row_length` rows.
template <int width, bool inverse, class Real>
void begin_line(const Real* from, index_t row_length, const Real* twiddles, Real* tile) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    constexpr int lanes = lanes_of<width, Real>;
    for (index_t done = 0; done < row_length;) {
        const LineColumns columns = next_line_columns(done, row_length, lanes);
        const Real* const source = from + 2 * columns.first;
        Real* const to = tile + columns.first * 2 * width;
        if constexpr (lanes >= 8)
            if (columns.count < lanes) {
                const hn::CappedTag<Real, static_cast<std::size_t>(lanes / 2)> half;
                begin_to_tile<width, inverse>(half, source, row_length, twiddles, to);
                return;
            }
        begin_to_tile<width, inverse>(d, source, row_length, twiddles, to);
        twiddles += 2 * (width - 1) * lanes;
        done = columns.first + columns.count;
    }
}

/// Transforms a line of width² samples in registers, if vectors have `width` lanes.
template <int width, bool inverse, class Real>
void square_line(const Real* from, const Real* twiddles, Real* to) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    using D = hn::CappedTag<Real, static_cast<std::size_t>(width)>;
    hn::Vec<D> re[static_cast<unsigned>(width)], im[static_cast<unsigned>(width)];
    begin_columns<width, inverse>(d, from, width, twiddles, re, im);
    ComplexVector<D> x[static_cast<unsigned>(width)];
    CONVOLUME_UNROLL
    for (int i = 0; i < width; ++i)
        x[static_cast<unsigned>(column_in_lane(i, width))] = {re[i], im[i]};
    dft<width>(d, x);
    CONVOLUME_UNROLL
    for (int k = 0; k < width; ++k, to += 2 * width)
        store_line<D>(d, inverse ? ComplexVector<D>{x[k].im, x[k].re} : x[k], to);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
