// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/column_fft.hpp"

#include <cmath>
#include <utility>

#include "convolume/error.hpp"
#include "cpu/fft/radices.hpp"
#include "cpu/fft/roots.hpp"

// Vectors are kept in arrays, which scalable vectors do not allow. The disabled targets lie between
// enabled ones and gain nothing here.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/column_fft.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/line_begin-inl.hpp"
#include "cpu/fft/radix_stage-inl.hpp"

#ifndef CONVOLUME_COLUMN_FFT_ARGUMENTS
#define CONVOLUME_COLUMN_FFT_ARGUMENTS
namespace convolume::cpu::column_fft {

/// A transform with the tables of its length.
template <class Real>
struct ColumnFftArguments {
    index_t length;
    const int* radices;
    const Real* twiddles;
    const ColumnTransform<Real>& transform;
    Real* scratch;
};

}  // namespace convolume::cpu::column_fft
#endif

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

using column_fft::ColumnFftArguments;

template <index_t width, class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    const ColumnTransform<Real>& columns = arguments.transform;
    const Real* from = columns.source_tile != nullptr ? columns.source_tile : columns.source;
    Real* to = arguments.scratch;
    Real* other =
        columns.source_tile != nullptr ? columns.source_tile : to + 2 * arguments.length * width;
    const Real* twiddles = arguments.twiddles;
    index_t s = 1, rest = arguments.length;
    for (index_t stage = 0; s < arguments.length || stage == 0; ++stage) {
        const int radix = arguments.radices[stage];
        const index_t m = rest / radix;
        const bool last = m == 1;
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
            case 6:
                run_radix_stage<6, width>(radix_stage);
                break;
            case 7:
                run_radix_stage<7, width>(radix_stage);
                break;
            case 9:
                run_radix_stage<9, width>(radix_stage);
                break;
            case 10:
                run_radix_stage<10, width>(radix_stage);
                break;
            case 11:
                run_radix_stage<11, width>(radix_stage);
                break;
            case 12:
                run_radix_stage<12, width>(radix_stage);
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

// The tile of each line is at the begin of the scratch memory.
template <int width, bool inverse, class Real>
void transform_lines(const ColumnFftArguments<Real>& arguments) {
    const LineSet<Real>& lines = *arguments.transform.lines;
    const index_t length = arguments.length;
    ColumnTransform<Real> tile = arguments.transform;
    tile.source_tile = arguments.scratch;
    tile.target_stride = 2 * width;
    const ColumnFftArguments<Real> rest{length, arguments.radices,

                                        arguments.twiddles, tile,
                                        arguments.scratch + 2 * width * length};
    for (index_t r = 0; r < lines.rows.count; ++r) {
        const Real* const source = lines.rows.source + r * lines.rows.source_distance;
        tile.target = lines.rows.target + r * lines.rows.target_distance;
        if constexpr (lanes_of<width, Real> == width)
            if (length == width) {
                square_line<width, inverse>(source, lines.twiddles, tile.target);
                continue;
            }
        begin_line<width, inverse>(source, length, lines.twiddles, tile.source_tile);
        transform<width>(rest);
    }
}

template <int width, class Real>
void transform_any(const ColumnFftArguments<Real>& arguments) {
    if (arguments.transform.lines == nullptr)
        transform<width>(arguments);
    else if (arguments.transform.inverse)
        transform_lines<width, true>(arguments);
    else
        transform_lines<width, false>(arguments);
}

template <class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    if (arguments.transform.columns == ColumnFft<Real>::most_columns)
        transform_any<ColumnFft<Real>::most_columns>(arguments);
    else
        transform_any<ColumnFft<Real>::column_multiple>(arguments);
}

void transform_float(const ColumnFftArguments<float>& arguments) {
    transform(arguments);
}
void transform_double(const ColumnFftArguments<double>& arguments) {
    transform(arguments);
}

index_t line_lanes(index_t real_bytes, index_t width) {
    const auto of = [](index_t eight, index_t sixteen, index_t columns) {
        return columns == 8 ? eight : sixteen;
    };
    return real_bytes == sizeof(float) ? of(lanes_of<8, float>, lanes_of<16, float>, width)
                                       : of(lanes_of<8, double>, lanes_of<16, double>, width);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {

HWY_EXPORT(transform_float);
HWY_EXPORT(transform_double);
HWY_EXPORT(line_lanes);

void dispatch(const column_fft::ColumnFftArguments<float>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_float)(arguments);
}
void dispatch(const column_fft::ColumnFftArguments<double>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_double)(arguments);
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
index_t ColumnFft<Real>::line_lanes(index_t width) {
    return HWY_DYNAMIC_DISPATCH(line_lanes)(index_t{sizeof(Real)}, width);
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
    dispatch(column_fft::ColumnFftArguments<Real>{length_, radices_.data(), twiddles_.data(),
                                                  transform, scratch});
}

template class ColumnFft<float>;
template class ColumnFft<double>;

}  // namespace convolume::cpu
#endif
