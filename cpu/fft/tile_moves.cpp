// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/tile_moves.hpp"

#include <cstddef>

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/tile_moves.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/blocks-inl.hpp"
#include "cpu/fft/butterflies-inl.hpp"
#include "cpu/fft/line_begin-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

template <class Real>
index_t offset_of(const TileRows<Real>& tile, index_t j) {
    return j / 2 * tile.pair_stride + j % 2 * tile.part_stride;
}

// Copies the numbers begin … end-1 one by one.
template <class Real>
void gather_each(const Real* const* rows, index_t begin, index_t end, const TileRows<Real>& tile,
                 index_t width) {
    for (index_t j = begin; j < end; ++j) {
        Real* const to = tile.data + offset_of(tile, j);
        for (index_t r = 0; r < width; ++r) to[r] = rows[r][j];
    }
}
template <class Real>
void scatter_each(const TileRows<Real>& tile, index_t begin, index_t end, Real* const* rows,
                  index_t width) {
    for (index_t j = begin; j < end; ++j) {
        const Real* const from = tile.data + offset_of(tile, j);
        for (index_t r = 0; r < width; ++r) rows[r][j] = from[r];
    }
}

#if HWY_TARGET == HWY_SCALAR

template <class Real>
void gather(const Real* const* rows, index_t count, const TileRows<Real>& tile, index_t width) {
    gather_each(rows, 0, count, tile, width);
}
template <class Real>
void scatter(const TileRows<Real>& tile, index_t count, Real* const* rows, index_t width) {
    scatter_each(tile, 0, count, rows, width);
}

#else

// Vectors of `count` neighboring numbers of a row move at once: all lanes, or a block.
template <int count, class D, class Real>
HWY_INLINE void gather_vectors(D d, const Real* const* rows, index_t j, const TileRows<Real>& tile,
                               index_t r) {
    hn::Vec<D> x[static_cast<unsigned>(count)];
    if constexpr (count == hn::MaxLanes(D())) {
        CONVOLUME_UNROLL
        for (int i = 0; i < count; ++i) x[i] = hn::LoadU(d, rows[r + i] + j);
        transpose_square(d, x);
    } else {
        CONVOLUME_UNROLL
        for (int i = 0; i < count; ++i) x[i] = load_blocks(d, rows + r + i, j);
        transpose_blocks(d, x);
    }
    Real* const to = tile.data + j / 2 * tile.pair_stride + r;
    CONVOLUME_UNROLL
    for (int i = 0; i < count; ++i)
        hn::Store(x[i], d, to + i / 2 * tile.pair_stride + i % 2 * tile.part_stride);
}
template <int count, class D, class Real>
HWY_INLINE void scatter_vectors(D d, const TileRows<Real>& tile, index_t j, Real* const* rows,
                                index_t r) {
    hn::Vec<D> x[static_cast<unsigned>(count)];
    const Real* const from = tile.data + j / 2 * tile.pair_stride + r;
    CONVOLUME_UNROLL
    for (int i = 0; i < count; ++i)
        x[i] = hn::Load(d, from + i / 2 * tile.pair_stride + i % 2 * tile.part_stride);
    if constexpr (count == hn::MaxLanes(D())) {
        transpose_square(d, x);
        CONVOLUME_UNROLL
        for (int i = 0; i < count; ++i) hn::StoreU(x[i], d, rows[r + i] + j);
    } else {
        transpose_blocks(d, x);
        CONVOLUME_UNROLL
        for (int i = 0; i < count; ++i) store_blocks(d, x[i], rows + r + i, j);
    }
}

template <index_t width, class Real>
void gather_columns(const Real* const* rows, index_t count, const TileRows<Real>& tile) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    constexpr int lanes = static_cast<int>(hn::MaxLanes(decltype(d)())), block = block_reals<Real>;
    index_t j = 0;
    for (; j + lanes <= count; j += lanes)
        for (index_t r = 0; r < width; r += lanes) gather_vectors<lanes>(d, rows, j, tile, r);
    for (; j + block <= count; j += block)
        for (index_t r = 0; r < width; r += lanes) gather_vectors<block>(d, rows, j, tile, r);
    gather_each(rows, j, count, tile, width);
}
template <index_t width, class Real>
void scatter_columns(const TileRows<Real>& tile, index_t count, Real* const* rows) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    constexpr int lanes = static_cast<int>(hn::MaxLanes(decltype(d)())), block = block_reals<Real>;
    index_t j = 0;
    for (; j + lanes <= count; j += lanes)
        for (index_t r = 0; r < width; r += lanes) scatter_vectors<lanes>(d, tile, j, rows, r);
    for (; j + block <= count; j += block)
        for (index_t r = 0; r < width; r += lanes) scatter_vectors<block>(d, tile, j, rows, r);
    scatter_each(tile, j, count, rows, width);
}

template <class Real>
void gather(const Real* const* rows, index_t count, const TileRows<Real>& tile, index_t width) {
    width == 16 ? gather_columns<16>(rows, count, tile) : gather_columns<8>(rows, count, tile);
}
template <class Real>
void scatter(const TileRows<Real>& tile, index_t count, Real* const* rows, index_t width) {
    width == 16 ? scatter_columns<16>(tile, count, rows) : scatter_columns<8>(tile, count, rows);
}

#endif

// Computes, in vectors or in single numbers,
//     S = scale (a + conj b),  T = twiddle (a - conj b),  a ← S + T,  b ← conj(S - T).
template <class D>
HWY_INLINE void combine(const ComplexVector<D>& twiddle, hn::Vec<D> scale, ComplexVector<D>& a,
                        ComplexVector<D>& b) {
    const ComplexVector<D> sum{hn::Mul(scale, hn::Add(a.re, b.re)),
                               hn::Mul(scale, hn::Sub(a.im, b.im))};
    const ComplexVector<D> difference{hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
    const ComplexVector<D> turned = multiply<D>(difference, twiddle);
    a = add<D>(sum, turned);
    b = {hn::Sub(sum.re, turned.re), hn::Sub(turned.im, sum.im)};
}

template <class Real>
void tile_step(const RealStep<Real>& step, Real* tile, index_t width) {
    const hn::CappedTag<Real, 8> d;
    using D = hn::CappedTag<Real, 8>;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const index_t half = step.half;
    const index_t re_to = step.inverse ? width : 0, im_to = width - re_to;
    const auto load = [&](index_t row, index_t i) HWY_ATTR -> ComplexVector<D> {
        const Real* const at = tile + row * 2 * width + i;
        return {hn::Load(d, at), hn::Load(d, at + width)};
    };
    const auto store = [&](const ComplexVector<D>& value, index_t row, index_t i) HWY_ATTR {
        Real* const at = tile + row * 2 * width + i;
        hn::Store(value.re, d, at + re_to);
        hn::Store(value.im, d, at + im_to);
    };
    for (index_t i = 0; i < width; i += lanes) {
        const ComplexVector<D> first = load(0, i);
        if (step.inverse) {
            const auto last = load(half, i).re;  // both bins are real
            store({hn::Add(first.re, last), hn::Sub(first.re, last)}, 0, i);
        } else {
            store({hn::Add(first.re, first.im), hn::Zero(d)}, 0, i);
            store({hn::Sub(first.re, first.im), hn::Zero(d)}, half, i);
        }
    }
    const Real factor = step.inverse ? Real(1) : Real(0.5);
    const auto scale = hn::Set(d, factor);
    for (index_t k = 1; 2 * k <= half; ++k) {
        const ComplexVector<D> twiddle{
            hn::Set(d, factor * step.twiddles[2 * k]),
            hn::Set(d, (step.inverse ? factor : -factor) * step.twiddles[2 * k + 1])};
        for (index_t i = 0; i < width; i += lanes) {
            ComplexVector<D> a = load(k, i), b = load(half - k, i);
            combine<D>(twiddle, scale, a, b);
            store(a, k, i);
            store(b, half - k, i);
        }
    }
}

// Applies the step to bins k and half - k, and as many more as there are lanes. Reversed vectors
// keep the order of column_in_lane().
template <class D, class Real>
HWY_INLINE void row_step(D d, const RealStep<Real>& step, index_t k, const Real* source,
                         Real* target) {
    const index_t high = step.half - k - static_cast<index_t>(hn::Lanes(d)) + 1;
    const auto scale = hn::Set(d, step.inverse ? Real(1) : Real(0.5));
    ComplexVector<D> a = load_line(d, source + 2 * k), b = load_line(d, source + 2 * high);
    ComplexVector<D> twiddle = load_line(d, step.twiddles + 2 * k);
    b = {hn::Reverse(d, b.re), hn::Reverse(d, b.im)};
    twiddle = {hn::Mul(twiddle.re, scale),
               hn::Mul(twiddle.im, step.inverse ? scale : hn::Neg(scale))};
    combine<D>(twiddle, scale, a, b);
    store_line(d, a, target + 2 * k);
    store_line<D>(d, {hn::Reverse(d, b.re), hn::Reverse(d, b.im)}, target + 2 * high);
}

// Applies the step to bins k … half - k, fewer than twice `most`. Both halves of vectors that
// overlap have the same results.
template <std::size_t most, class Real>
HWY_INLINE void last_row_steps(const RealStep<Real>& step, index_t k, const Real* source,
                               Real* target) {
    const hn::CappedTag<Real, most> d;
    const index_t left = step.half - 2 * k + 1;
    if (left >= static_cast<index_t>(hn::Lanes(d)))
        row_step(d, step, k, source, target);
    else if constexpr (most > 1)
        last_row_steps<most / 2>(step, k, source, target);
}

template <class Real>
void whole_row_step(const RealStep<Real>& step, const Real* source, Real* target) {
    const index_t half = step.half;
    const Real re = source[0], im = step.inverse ? source[2 * half] : source[1];
    target[0] = re + im;
    target[1] = step.inverse ? re - im : Real(0);
    if (!step.inverse) {
        target[2 * half] = re - im;
        target[2 * half + 1] = 0;
    }
    const hn::CappedTag<Real, 16> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    index_t k = 1;
    for (; 2 * (k + lanes) <= half + 1; k += lanes) row_step(d, step, k, source, target);
    last_row_steps<hn::MaxLanes(decltype(d)())>(step, k, source, target);
}

template <class Real>
void split(Real* tile, index_t length, index_t width) {
    const hn::CappedTag<Real, 8> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const auto half = hn::Set(d, Real(0.5));
    for (index_t i = 0; i < width; i += lanes) {
        Real* const first = tile + i;
        Real* const other = tile + length * 2 * width + i;
        hn::Store(hn::Load(d, first + width), d, other);
        hn::Store(hn::Zero(d), d, first + width);
        hn::Store(hn::Zero(d), d, other + width);
        for (index_t k = 1; 2 * k < length; ++k) {
            Real* const a = first + k * 2 * width;
            Real* const b = other - k * 2 * width;
            const auto a_re = hn::Load(d, a), a_im = hn::Load(d, a + width);
            const auto b_re = hn::Load(d, b), b_im = hn::Load(d, b + width);
            hn::Store(hn::Mul(half, hn::Add(a_re, b_re)), d, a);
            hn::Store(hn::Mul(half, hn::Sub(a_im, b_im)), d, a + width);
            hn::Store(hn::Mul(half, hn::Add(a_im, b_im)), d, b);
            hn::Store(hn::Mul(half, hn::Sub(b_re, a_re)), d, b + width);
        }
    }
}

template <class Real>
void join(Real* tile, index_t length, index_t width) {
    const hn::CappedTag<Real, 8> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    for (index_t i = 0; i < width; i += lanes) {
        Real* const first = tile + i;
        Real* const other = tile + length * 2 * width + i;
        const auto mean = hn::Load(d, first);
        hn::Store(hn::Load(d, other), d, first);
        hn::Store(mean, d, first + width);
        for (index_t k = 1; 2 * k < length; ++k) {
            Real* const a = first + k * 2 * width;
            Real* const b = other - k * 2 * width;
            const auto a_re = hn::Load(d, a), a_im = hn::Load(d, a + width);
            const auto b_re = hn::Load(d, b), b_im = hn::Load(d, b + width);
            hn::Store(hn::Add(a_im, b_re), d, a);
            hn::Store(hn::Sub(a_re, b_im), d, a + width);
            hn::Store(hn::Sub(b_re, a_im), d, b);
            hn::Store(hn::Add(a_re, b_im), d, b + width);
        }
    }
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_FOR_BOTH(Real)                                   \
    static constexpr auto& gather_##Real = gather<Real>;           \
    static constexpr auto& scatter_##Real = scatter<Real>;         \
    static constexpr auto& tile_step_##Real = tile_step<Real>;     \
    static constexpr auto& row_step_##Real = whole_row_step<Real>; \
    static constexpr auto& split_##Real = split<Real>;             \
    static constexpr auto& join_##Real = join<Real>;
CONVOLUME_FOR_BOTH(float)
CONVOLUME_FOR_BOTH(double)
#undef CONVOLUME_FOR_BOTH

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

#define CONVOLUME_DISPATCH(Real)                                                                \
    HWY_EXPORT(gather_##Real);                                                                  \
    HWY_EXPORT(scatter_##Real);                                                                 \
    HWY_EXPORT(tile_step_##Real);                                                               \
    HWY_EXPORT(row_step_##Real);                                                                \
    HWY_EXPORT(split_##Real);                                                                   \
    HWY_EXPORT(join_##Real);                                                                    \
    void gather_rows(const Real* const* rows, index_t count, const TileRows<Real>& tile,        \
                     index_t width) {                                                           \
        HWY_DYNAMIC_DISPATCH(gather_##Real)(rows, count, tile, width);                          \
    }                                                                                           \
    void scatter_rows(const TileRows<Real>& tile, index_t count, Real* const* rows,             \
                      index_t width) {                                                          \
        HWY_DYNAMIC_DISPATCH(scatter_##Real)(tile, count, rows, width);                         \
    }                                                                                           \
    void apply_real_step(const RealStep<Real>& step, Real* tile, index_t width) {               \
        HWY_DYNAMIC_DISPATCH(tile_step_##Real)(step, tile, width);                              \
    }                                                                                           \
    void apply_real_step_to_row(const RealStep<Real>& step, const Real* source, Real* target) { \
        HWY_DYNAMIC_DISPATCH(row_step_##Real)(step, source, target);                            \
    }                                                                                           \
    void split_pairs(Real* tile, index_t length, index_t width) {                               \
        HWY_DYNAMIC_DISPATCH(split_##Real)(tile, length, width);                                \
    }                                                                                           \
    void join_pairs(Real* tile, index_t length, index_t width) {                                \
        HWY_DYNAMIC_DISPATCH(join_##Real)(tile, length, width);                                 \
    }
CONVOLUME_DISPATCH(float)
CONVOLUME_DISPATCH(double)
#undef CONVOLUME_DISPATCH

}  // namespace convolume::cpu
#endif
