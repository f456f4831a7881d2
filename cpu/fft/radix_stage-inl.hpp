// SPDX-License-Identifier: Apache-2.0
// Radix stages of transforms of columns. Compiled once for each instruction set that includes it.

#if defined(CONVOLUME_CPU_FFT_RADIX_STAGE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_CPU_FFT_RADIX_STAGE_INL_HPP
#undef CONVOLUME_CPU_FFT_RADIX_STAGE_INL_HPP
#else
#define CONVOLUME_CPU_FFT_RADIX_STAGE_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "cpu/fft/butterflies-inl.hpp"
#include "cpu/fft/line_begin-inl.hpp"
#include "cpu/fft/radix_stage.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

/// Computes one radix stage (see RadixStage). Inverse transforms conjugate samples that are read
/// from columns and written to columns. Tiles of inverse lines hold exchanged real and imaginary
/// parts: the last stage exchanges them again and computes an inverse transform, whose results
/// are those of a forward one in reverse order.
template <int Radix, index_t width, bool from_columns, StageTarget target, class Real>
void run_radix_stage(const RadixStage<Real>& stage) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    using D = hn::CappedTag<Real, static_cast<std::size_t>(width)>;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const ColumnTransform<Real>& transform = stage.transform;
    const Real* const from = stage.from;
    Real* const to = stage.to;
    const Real* HWY_RESTRICT twiddles = stage.twiddles;
    const index_t s = stage.s, m = stage.m;
    const auto sign = hn::Set(d, transform.inverse ? Real(-0.0) : Real(0));
    const bool reversed = target == StageTarget::line && transform.inverse;
    const index_t re_at = reversed ? width : 0, im_at = width - re_at;
    // Distances between rows, and whether some rows count as zeros or are not stored.
    const index_t from_stride = from_columns ? transform.source_stride : 2 * width;
    const index_t to_stride = target == StageTarget::columns ? transform.target_stride : 2 * width;
    const index_t out_step = reversed ? -s * to_stride : s * to_stride;
    const bool all_read = transform.source_first == 0 && transform.source_count >= s * m * Radix;
    const bool all_stored = transform.target_first == 0 && transform.target_count >= s * Radix;
    const auto load = [&](const Real* at, index_t row) HWY_ATTR -> ComplexVector<D> {
        ComplexVector<D> value;
        if constexpr (from_columns) {
            if (!all_read) {
                const index_t i = row - transform.source_first;
                if (i < 0 || i >= transform.source_count) return {hn::Zero(d), hn::Zero(d)};
            }
            hn::LoadInterleaved2(d, at, value.re, value.im);
            value.im = hn::Xor(value.im, sign);
        } else {
            value.re = hn::Load(d, at + re_at);
            value.im = hn::Load(d, at + im_at);
        }
        return value;
    };
    const auto store = [&](Real* at, index_t row, index_t column, ComplexVector<D> value) HWY_ATTR {
        if constexpr (target == StageTarget::columns) {
            if (!all_stored) {
                const index_t i = row - transform.target_first;
                if (i < 0 || i >= transform.target_count) return;
            }
            store_interleaved<D>({value.re, hn::Xor(value.im, sign)}, d, at);
        } else if constexpr (target == StageTarget::line) {
            store_line<D>(d, value, at);
        } else {
            if constexpr (target == StageTarget::tile) {
                if (transform.factors != nullptr) {
                    const Real* const factor = transform.factors + row * 2 * width + column;
                    const ComplexVector<D> factors{hn::Load(d, factor),
                                                   hn::Load(d, factor + width)};
                    if (transform.row_factors != nullptr)
                        value = multiply(d, value, transform.row_factors[2 * row],
                                         transform.row_factors[2 * row + 1]);
                    value = multiply<D>(value, factors);
                }
            }
            hn::Store(value.re, d, at);
            hn::Store(value.im, d, at + width);
        }
    };
    const index_t from_column = from_columns ? 2 : 1;
    const index_t to_column = target == StageTarget::columns || target == StageTarget::line ? 2 : 1;
    for (index_t p = 0; p < m; ++p, twiddles += 2 * (Radix - 1)) {
        for (index_t q = 0; q < s; ++q) {
            for (index_t column = 0; column < width; column += lanes) {
                const index_t in_row = q + s * p, out_row = q + s * Radix * p;
                const Real* in =
                    from + (in_row - (from_columns ? transform.source_first : 0)) * from_stride +
                    from_column * column;
                Real* out =
                    to +
                    (out_row - (target == StageTarget::columns ? transform.target_first : 0)) *
                        to_stride +
                    to_column * column;
                ComplexVector<D> x[static_cast<unsigned>(Radix)];
                CONVOLUME_UNROLL
                for (int i = 0; i < Radix; ++i, in += s * m * from_stride)
                    x[i] = load(in, in_row + s * m * i);
                dft<Radix>(d, x);
                CONVOLUME_UNROLL
                for (int k = 0; k < Radix; ++k) {
                    if constexpr (target == StageTarget::next_stage)
                        if (k > 0)
                            x[k] = multiply(d, x[k], twiddles[2 * k - 2], twiddles[2 * k - 1]);
                    store(out, out_row + s * k, column, x[k]);
                    if (k == 0 && reversed) out += s * Radix * to_stride;
                    out += out_step;
                }
            }
        }
    }
}

template <int Radix, index_t width, class Real>
void run_radix_stage(const RadixStage<Real>& stage) {
    const ColumnTransform<Real>& transform = stage.transform;
    const bool from_columns = stage.first && transform.source_tile == nullptr;
    if (!stage.last)
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::next_stage>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::next_stage>(stage);
    else if (transform.target_tile != nullptr)
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::tile>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::tile>(stage);
    else if (transform.lines != nullptr)
        run_radix_stage<Radix, width, false, StageTarget::line>(stage);
    else
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::columns>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::columns>(stage);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
