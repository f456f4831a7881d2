// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/line_begin.hpp"

#include <algorithm>
#include <cstddef>

// The disabled targets are those of column_fft.cpp.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/line_begin.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/blocks-inl.hpp"
#include "cpu/fft/butterflies-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

// Stores `count` vectors as columns of rows that are `stride` apart.
template <int count, class D, class Real>
HWY_INLINE void store_transposed(D d, hn::Vec<D>* x, Real* to, [[maybe_unused]] index_t stride) {
#if HWY_TARGET == HWY_SCALAR
    for (int j = 0; j < count; ++j) hn::Store(x[j], d, to + j);
#else
    constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
    CONVOLUME_UNROLL
    for (int j = 0; j < count; j += lanes) {
        transpose_square(d, x + j);
        CONVOLUME_UNROLL
        for (int i = 0; i < lanes; ++i) hn::Store(x[j + i], d, to + i * stride + j);
    }
#endif
}

template <int width, bool inverse, class Real>
void begin(const LineBegin<Real>& line) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    using D = hn::CappedTag<Real, static_cast<std::size_t>(width)>;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const Real* twiddles = line.twiddles;
    for (index_t group = 0; group < line.row_length;
         group += width, twiddles += 2 * width * width) {
        const index_t first = std::min(group, line.row_length - width);
        for (index_t column = 0; column < width; column += lanes) {
            const Real* const from = line.source + 2 * (first + column);
            ComplexVector<D> x[static_cast<unsigned>(width)];
            CONVOLUME_UNROLL
            for (int i = 0; i < width; ++i) {
                hn::LoadInterleaved2(d, from + i * 2 * line.row_length, x[i].re, x[i].im);
                if constexpr (inverse) x[i].im = hn::Neg(x[i].im);
            }
            dft<width>(d, x);
            hn::Vec<D> re[static_cast<unsigned>(width)], im[static_cast<unsigned>(width)];
            re[0] = x[0].re;
            im[0] = x[0].im;
            CONVOLUME_UNROLL
            for (int k = 1; k < width; ++k) {
                const Real* const factor = twiddles + k * 2 * width + column;
                x[k] = multiply<D>(x[k], {hn::Load(d, factor), hn::Load(d, factor + width)});
                re[k] = x[k].re;
                im[k] = x[k].im;
            }
            Real* const to = line.tile + (first + column) * 2 * width;
            store_transposed<width>(d, re, to, 2 * width);
            store_transposed<width>(d, im, to + width, 2 * width);
        }
    }
}

template <int width, class Real>
void begin(const LineBegin<Real>& line) {
    line.inverse ? begin<width, true>(line) : begin<width, false>(line);
}
void begin_float(const LineBegin<float>& line) {
    line.width == 16 ? begin<16>(line) : begin<8>(line);
}
void begin_double(const LineBegin<double>& line) {
    begin<8>(line);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

HWY_EXPORT(begin_float);
HWY_EXPORT(begin_double);

void begin_line(const LineBegin<float>& line) {
    HWY_DYNAMIC_DISPATCH(begin_float)(line);
}
void begin_line(const LineBegin<double>& line) {
    HWY_DYNAMIC_DISPATCH(begin_double)(line);
}

}  // namespace convolume::cpu
#endif
