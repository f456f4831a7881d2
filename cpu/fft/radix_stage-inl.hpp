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
#include <type_traits>

#include "cpu/fft/butterflies-inl.hpp"
#include "cpu/fft/line_begin-inl.hpp"
#include "cpu/fft/radix_stage.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

/// Computes one radix stage (see RadixStage) of `width` columns, with vectors of type D. Inverse
/// transforms conjugate samples that are read from columns and written to columns. Tiles of inverse
/// lines hold exchanged real and imaginary parts: the last stage exchanges them again and computes
/// an inverse transform, whose results are those of a forward one in reverse order.
template <int Radix, class Case, class D, class Real>
HWY_NOINLINE void run_radix_stage(Case stage_case, D d, index_t width,
                                  const RadixStage<Real>& stage) {
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const ColumnTransform<Real>& transform = stage.transform;
    const StageTarget target = stage_case.target;
    const bool from_columns = stage_case.from_columns;
    const bool to_columns = target == StageTarget::columns;
    const Real* HWY_RESTRICT twiddles = stage.twiddles;
    const index_t s = stage.s, m = stage.m;
    const auto sign = hn::Set(d, transform.inverse ? Real(-0.0) : Real(0));
    const bool reversed = target == StageTarget::line && transform.inverse;
    const index_t re_at = reversed ? width : 0, im_at = width - re_at;
    // Distances between rows and columns, and the rows that are in memory.
    const index_t from_stride = from_columns ? transform.source_stride : 2 * width;
    const index_t to_stride = to_columns ? transform.target_stride : 2 * width;
    const index_t from_column = from_columns ? 2 : 1;
    const index_t to_column = to_columns || target == StageTarget::line ? 2 : 1;
    const index_t from_first = from_columns ? transform.source_first : 0;
    const index_t to_first = to_columns ? transform.target_first : 0;
    const auto from_count = static_cast<std::size_t>(transform.source_count);
    const auto to_count = static_cast<std::size_t>(transform.target_count);
    const index_t in_step = s * m * from_stride;
    const index_t out_step = reversed ? -s * to_stride : s * to_stride;
    for (index_t p = 0; p < m; ++p, twiddles += 2 * (Radix - 1)) {
        for (index_t q = 0; q < s; ++q) {
            // Rows from the first ones in memory on.
            const index_t in_row = q + s * p - from_first, out_row = q + s * Radix * p - to_first;
            for (index_t column = 0; column < width; column += lanes) {
                const Real* in = stage.from + in_row * from_stride + from_column * column;
                Real* out = stage.to + out_row * to_stride + to_column * column;
                ComplexVector<D> x[static_cast<unsigned>(Radix)];
                if (from_columns) {
                    CONVOLUME_UNROLL
                    for (int i = 0; i < Radix; ++i, in += in_step) {
                        x[i] = {hn::Zero(d), hn::Zero(d)};
                        if (static_cast<std::size_t>(in_row + s * m * i) >= from_count) continue;
                        hn::LoadInterleaved2(d, in, x[i].re, x[i].im);
                        x[i].im = hn::Xor(x[i].im, sign);
                    }
                } else {
                    CONVOLUME_UNROLL
                    for (int i = 0; i < Radix; ++i, in += in_step)
                        x[i] = {hn::Load(d, in + re_at), hn::Load(d, in + im_at)};
                }
                dft<Radix>(d, x);
                if (target == StageTarget::columns) {
                    CONVOLUME_UNROLL
                    for (int k = 0; k < Radix; ++k, out += out_step)
                        if (static_cast<std::size_t>(out_row + s * k) < to_count)
                            store_interleaved<D>({x[k].re, hn::Xor(x[k].im, sign)}, d, out);
                    continue;
                }
                if (target == StageTarget::line) {
                    store_line<D>(d, x[0], out);
                    if (reversed) out += s * Radix * to_stride;
                    CONVOLUME_UNROLL
                    for (int k = 1; k < Radix; ++k) store_line<D>(d, x[k], out += out_step);
                    continue;
                }
                if (target == StageTarget::next_stage) {
                    CONVOLUME_UNROLL
                    for (int k = 1; k < Radix; ++k)
                        x[k] = multiply(d, x[k], twiddles[2 * k - 2], twiddles[2 * k - 1]);
                } else if (transform.factors != nullptr) {
                    CONVOLUME_UNROLL
                    for (int k = 0; k < Radix; ++k) {
                        const index_t row = out_row + s * k;
                        if (transform.row_factors != nullptr)
                            x[k] = multiply(d, x[k], transform.row_factors[2 * row],
                                            transform.row_factors[2 * row + 1]);
                        const Real* const factor = transform.factors + row * 2 * width + column;
                        x[k] =
                            multiply<D>(x[k], {hn::Load(d, factor), hn::Load(d, factor + width)});
                    }
                }
                CONVOLUME_UNROLL
                for (int k = 0; k < Radix; ++k, out += out_step) {
                    hn::Store(x[k].re, d, out);
                    hn::Store(x[k].im, d, out + width);
                }
            }
        }
    }
}

/// Whether each case of a stage is a function of its own, in whose loops nothing is decided. They
/// are a quarter faster than one function for all cases, and take seven times as long to compile.
/// Processors without AVX2 are rare, as are transforms with the factors 11 and 13, which no grid
/// has.
template <int Radix>
inline constexpr bool has_function_for_each_case =
    Radix != 11 && Radix != 13 && !(HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2);

template <int Radix, class D, class Real>
void run_radix_stage(D d, index_t width, const RadixStage<Real>& stage) {
    if constexpr (!has_function_for_each_case<Radix>) {
        run_radix_stage<Radix>(stage.stage_case, d, width, stage);
    } else {
        const auto run = [&]<bool from_columns>(std::bool_constant<from_columns>) {
            switch (stage.stage_case.target) {
                case StageTarget::next_stage:
                    return run_radix_stage<Radix>(
                        FixedCase<from_columns, StageTarget::next_stage>(), d, width, stage);
                case StageTarget::columns:
                    return run_radix_stage<Radix>(FixedCase<from_columns, StageTarget::columns>(),
                                                  d, width, stage);
                case StageTarget::tile:
                    return run_radix_stage<Radix>(FixedCase<from_columns, StageTarget::tile>(), d,
                                                  width, stage);
                case StageTarget::line:  // lines begin with a tile
                    return run_radix_stage<Radix>(FixedCase<false, StageTarget::line>(), d, width,
                                                  stage);
            }
        };
        stage.stage_case.from_columns ? run(std::true_type()) : run(std::false_type());
    }
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
