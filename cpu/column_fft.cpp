// SPDX-License-Identifier: Apache-2.0
#include "cpu/column_fft.hpp"

#include <cmath>
#include <utility>

#include "convolume/error.hpp"
#include "cpu/fft/roots.hpp"

// Vectors are kept in arrays, which scalable vectors do not allow. The disabled targets lie between
// enabled ones and gain nothing here.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/column_fft.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/butterflies-inl.hpp"

#ifndef CONVOLUME_COLUMN_FFT_ARGUMENTS
#define CONVOLUME_COLUMN_FFT_ARGUMENTS
namespace convolume::cpu::column_fft {

/// A transform with the tables of its length.
template <class Real>
struct ColumnFftArguments {
    index_t length;
    const int* radices;
    index_t stages;
    const Real* twiddles;
    const ColumnTransform<Real>& transform;
    Real* scratch;
};

/// A radix stage: `s` results of earlier stages lie side by side, and length `m` remains after the
/// stage. A first stage reads the source of `transform`, a last one writes its target.
template <class Real>
struct RadixStage {
    const ColumnTransform<Real>& transform;
    bool first, last;
    index_t s, m;
    const Real* twiddles;
    const Real* from;
    Real* to;
};

/// Where a radix stage stores its results: in a tile that the next stage reads, in the columns of
/// the target, or in the tile of the target.
enum class StageTarget { next_stage, columns, tile };

}  // namespace convolume::cpu::column_fft
#endif

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

using column_fft::ColumnFftArguments;
using column_fft::RadixStage;
using column_fft::StageTarget;

/// Computes one radix stage (see RadixStage). Inverse transforms conjugate samples that are read
/// from columns and written to columns.
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
    // Distances between rows, and whether some rows count as zeros or are not stored.
    const index_t from_stride = from_columns ? transform.source_stride : 2 * width;
    const index_t to_stride = target == StageTarget::columns ? transform.target_stride : 2 * width;
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
            value.re = hn::Load(d, at);
            value.im = hn::Load(d, at + width);
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
    const index_t to_column = target == StageTarget::columns ? 2 : 1;
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
                for (int k = 0; k < Radix; ++k, out += s * to_stride) {
                    if constexpr (target == StageTarget::next_stage)
                        if (k > 0)
                            x[k] = multiply(d, x[k], twiddles[2 * k - 2], twiddles[2 * k - 1]);
                    store(out, out_row + s * k, column, x[k]);
                }
            }
        }
    }
}

template <int Radix, index_t width, class Real>
void run_radix_stage(const RadixStage<Real>& stage) {
    const bool from_columns = stage.first && stage.transform.source_tile == nullptr;
    const bool to_tile = stage.transform.target_tile != nullptr;
    if (!stage.last)
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::next_stage>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::next_stage>(stage);
    else if (to_tile)
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::tile>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::tile>(stage);
    else
        from_columns ? run_radix_stage<Radix, width, true, StageTarget::columns>(stage)
                     : run_radix_stage<Radix, width, false, StageTarget::columns>(stage);
}

template <index_t width, class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    const ColumnTransform<Real>& columns = arguments.transform;
    const Real* from = columns.source_tile != nullptr ? columns.source_tile : columns.source;
    Real* to = arguments.scratch;
    Real* other =
        columns.source_tile != nullptr ? columns.source_tile : to + 2 * arguments.length * width;
    const Real* twiddles = arguments.twiddles;
    index_t s = 1, rest = arguments.length;
    for (index_t stage = 0; stage < arguments.stages; ++stage) {
        const int radix = arguments.radices[stage];
        const index_t m = rest / radix;
        const bool last = stage + 1 == arguments.stages;
        if (last) to = columns.target_tile != nullptr ? columns.target_tile : columns.target;
        const RadixStage<Real> radix_stage{columns, stage == 0, last, s, m, twiddles, from, to};
        switch (radix) {
            case 1:
                run_radix_stage<1, width>(radix_stage);
                break;
            case 2:
                run_radix_stage<2, width>(radix_stage);
                break;
            case 3:
                run_radix_stage<3, width>(radix_stage);
                break;
            case 4:
                run_radix_stage<4, width>(radix_stage);
                break;
            case 5:
                run_radix_stage<5, width>(radix_stage);
                break;
            case 7:
                run_radix_stage<7, width>(radix_stage);
                break;
            case 11:
                run_radix_stage<11, width>(radix_stage);
                break;
            case 13:
                run_radix_stage<13, width>(radix_stage);
                break;
            default:
                run_radix_stage<8, width>(radix_stage);
        }
        twiddles += 2 * m * (radix - 1);
        s *= radix;
        rest = m;
        from = to;
        std::swap(to, other);
    }
}

template <class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    if (arguments.transform.columns == ColumnFft<Real>::most_columns)
        transform<ColumnFft<Real>::most_columns>(arguments);
    else
        transform<ColumnFft<Real>::column_multiple>(arguments);
}

void transform_float(const ColumnFftArguments<float>& arguments) {
    transform(arguments);
}
void transform_double(const ColumnFftArguments<double>& arguments) {
    transform(arguments);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {

HWY_EXPORT(transform_float);
HWY_EXPORT(transform_double);

void dispatch(const column_fft::ColumnFftArguments<float>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_float)(arguments);
}
void dispatch(const column_fft::ColumnFftArguments<double>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_double)(arguments);
}

/// Returns the radices whose product is `length`; empty if a prime factor exceeds 13.
std::vector<int> radices_of(index_t length) {
    if (length == 1) return {1};
    std::vector<int> radices;
    for (const int radix : {13, 11, 7, 5, 3, 8, 4, 2}) {
        while (length % radix == 0) {
            if (radix == 8 && length == 16) break;  // 16 is 4 · 4 rather than 8 · 2
            radices.push_back(radix);
            length /= radix;
        }
    }
    if (length != 1) radices.clear();
    return radices;
}

}  // namespace

template <class Real>
ColumnFft<Real>::ColumnFft(index_t length) : length_(length) {
    if (length > 0) radices_ = radices_of(length);
    if (radices_.empty())
        throw InvalidArgument(
            message("no transform of columns of ", length,
                    " samples: lengths are positive and have no prime factor above 13"));
    index_t rest = length;
    for (const int radix : radices_) {
        const index_t m = rest / radix;
        for (index_t p = 0; p < m; ++p) {
            for (int k = 1; k < radix; ++k) {
                const std::complex<double> root = root_of_unity(p * k, rest);
                twiddles_.push_back(static_cast<Real>(root.real()));
                twiddles_.push_back(static_cast<Real>(-root.imag()));
            }
        }
        rest = m;
    }
}

template <class Real>
bool ColumnFft<Real>::takes(index_t length) {
    return length > 0 && !radices_of(length).empty();
}

template <class Real>
void ColumnFft<Real>::forward(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(false, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::inverse(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(true, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::transform(bool inverse, const InputColumns& source,
                                const OutputColumns& target, index_t columns,
                                Complex* scratch) const {
    ColumnTransform<Real> transform;
    transform.source = reinterpret_cast<const Real*>(source.data);
    transform.source_stride = 2 * source.stride;
    transform.source_first = source.first;
    transform.source_count = source.count;
    transform.target = reinterpret_cast<Real*>(target.data);
    transform.target_stride = 2 * target.stride;
    transform.target_first = target.first;
    transform.target_count = target.count;
    transform.columns = columns;
    transform.inverse = inverse;
    run(transform, reinterpret_cast<Real*>(scratch));
}

template <class Real>
void ColumnFft<Real>::run(const ColumnTransform<Real>& transform, Real* scratch) const {
    if (transform.columns != most_columns && transform.columns != column_multiple)
        throw InternalError(message("a transform of ", transform.columns, " columns"));
    dispatch(column_fft::ColumnFftArguments<Real>{length_, radices_.data(),
                                                  static_cast<index_t>(radices_.size()),
                                                  twiddles_.data(), transform, scratch});
}

template class ColumnFft<float>;
template class ColumnFft<double>;

}  // namespace convolume::cpu
#endif
