// SPDX-License-Identifier: Apache-2.0
// Transforms of columns and lines by the radix stages of their length, in the type CONVOLUME_REAL:
// the content of column_stages_float.cpp and column_stages_double.cpp, which are compiled side by
// side.

#include <utility>

#include "cpu/fft/column_stages.hpp"
#include "cpu/fft/line_begin-inl.hpp"
#include "cpu/fft/radix_stage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

template <class Real>
StageTarget target_of(const ColumnTransform<Real>& transform) {
    if (transform.target_tile != nullptr) return StageTarget::tile;
    return transform.lines != nullptr ? StageTarget::line : StageTarget::columns;
}

// Transforms `width` columns with vectors of type D, one for each type: on some processors, both
// widths have the same vectors.
template <class D, class Real>
void transform(D d, index_t width, const ColumnStages<Real>& arguments) {
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
        const StageCase stage_case{stage == 0 && columns.source_tile == nullptr,
                                   last ? target_of(columns) : StageTarget::next_stage};
        const RadixStage<Real> radix_stage{columns, stage_case, s, m, twiddles, from, to};
        switch (radix) {
            case 1:
                run_radix_stage<1>(d, width, radix_stage);
                break;
            case 2:
                run_radix_stage<2>(d, width, radix_stage);
                break;
            case 3:
                run_radix_stage<3>(d, width, radix_stage);
                break;
            case 4:
                run_radix_stage<4>(d, width, radix_stage);
                break;
            case 5:
                run_radix_stage<5>(d, width, radix_stage);
                break;
            case 6:
                run_radix_stage<6>(d, width, radix_stage);
                break;
            case 7:
                run_radix_stage<7>(d, width, radix_stage);
                break;
            case 9:
                run_radix_stage<9>(d, width, radix_stage);
                break;
            case 10:
                run_radix_stage<10>(d, width, radix_stage);
                break;
            case 11:
                run_radix_stage<11>(d, width, radix_stage);
                break;
            case 12:
                run_radix_stage<12>(d, width, radix_stage);
                break;
            case 13:
                run_radix_stage<13>(d, width, radix_stage);
                break;
            default:
                run_radix_stage<8>(d, width, radix_stage);
        }
        twiddles += 2 * m * (radix - 1);
        s *= radix;
        rest = m;
        from = to;
        std::swap(to, other);
    }
}

// Transforms `width` columns.
template <int width, class Real>
void transform(const ColumnStages<Real>& arguments) {
    const hn::CappedTag<Real, static_cast<std::size_t>(lanes_of<width, Real>)> d;
    transform(d, width, arguments);
}

// The tile of each line is at the begin of the scratch memory.
template <int width, bool inverse, class Real>
void transform_lines(const ColumnStages<Real>& arguments) {
    const LineSet<Real>& lines = *arguments.transform.lines;
    const index_t length = arguments.length;
    ColumnTransform<Real> tile = arguments.transform;
    tile.source_tile = arguments.scratch;
    tile.target_stride = 2 * width;
    const ColumnStages<Real> rest{length, arguments.radices, arguments.twiddles, tile,
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
void transform_any(const ColumnStages<Real>& arguments) {
    if (arguments.transform.lines == nullptr)
        transform<width>(arguments);
    else if (arguments.transform.inverse)
        transform_lines<width, true>(arguments);
    else
        transform_lines<width, false>(arguments);
}

template <class Real>
void transform(const ColumnStages<Real>& arguments) {
    if (arguments.transform.columns == ColumnFft<Real>::most_columns)
        transform_any<ColumnFft<Real>::most_columns>(arguments);
    else
        transform_any<ColumnFft<Real>::column_multiple>(arguments);
}

static void transform_columns(const ColumnStages<CONVOLUME_REAL>& stages) {
    transform(stages);
}

static index_t lanes_at_width(index_t width) {
    return width == 8 ? lanes_of<8, CONVOLUME_REAL> : lanes_of<16, CONVOLUME_REAL>;
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {
HWY_EXPORT(transform_columns);
HWY_EXPORT(lanes_at_width);
}  // namespace

void run_stages(const ColumnStages<CONVOLUME_REAL>& stages) {
    HWY_DYNAMIC_DISPATCH(transform_columns)(stages);
}

template <>
index_t lanes_of_columns<CONVOLUME_REAL>(index_t width) {
    return HWY_DYNAMIC_DISPATCH(lanes_at_width)(width);
}

}  // namespace convolume::cpu
#endif
