// SPDX-License-Identifier: Apache-2.0
// Transposition of rows in registers. Compiled once for each instruction set that includes it.

#if defined(CONVOLUME_CPU_FFT_BLOCKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#undef CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#else
#define CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#endif

#include <hwy/highway.h>

#include "convolume/shape.hpp"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors move in blocks of 16 bytes, 4 floats or 2 doubles of a row. Block b of vector i is of row
// b · block_reals + i, so that a transposition inside of the blocks gives vectors of neighboring
// rows.
template <class Real>
inline constexpr int block_reals = 16 / sizeof(Real);

template <class D, class Real>
HWY_INLINE hn::Vec<D> load_blocks(D d, const Real* const* rows, index_t at) {
    constexpr std::size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes == block_reals<Real>) {
        return hn::LoadU(d, rows[0] + at);
    } else {
        const hn::Half<D> half;
        return hn::Combine(d, load_blocks(half, rows + lanes / 2, at), load_blocks(half, rows, at));
    }
}
template <class D, class Real>
HWY_INLINE void store_blocks(D d, hn::Vec<D> blocks, Real* const* rows, index_t at) {
    constexpr std::size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes == block_reals<Real>) {
        hn::StoreU(blocks, d, rows[0] + at);
    } else {
        const hn::Half<D> half;
        store_blocks(half, hn::LowerHalf(half, blocks), rows, at);
        store_blocks(half, hn::UpperHalf(half, blocks), rows + lanes / 2, at);
    }
}

// The same with rows that are `stride` apart.
template <class D, class Real>
HWY_INLINE void store_strided_blocks(D d, hn::Vec<D> blocks, Real* row, index_t stride) {
    constexpr auto lanes = static_cast<index_t>(hn::MaxLanes(D()));
    if constexpr (lanes == block_reals<Real>) {
        hn::StoreU(blocks, d, row);
    } else {
        const hn::Half<D> half;
        store_strided_blocks(half, hn::LowerHalf(half, blocks), row, stride);
        store_strided_blocks(half, hn::UpperHalf(half, blocks), row + lanes / 2 * stride, stride);
    }
}

// Transposes the square matrices that the blocks of 4 or 2 registers are.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* x) {
    if constexpr (sizeof(hn::TFromD<D>) == 8) {
        const auto low = hn::InterleaveLower(d, x[0], x[1]);
        x[1] = hn::InterleaveUpper(d, x[0], x[1]);
        x[0] = low;
    } else {
        const hn::Repartition<double, D> pairs;
        const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, x[0], x[1]));
        const auto b = hn::BitCast(pairs, hn::InterleaveUpper(d, x[0], x[1]));
        const auto c = hn::BitCast(pairs, hn::InterleaveLower(d, x[2], x[3]));
        const auto e = hn::BitCast(pairs, hn::InterleaveUpper(d, x[2], x[3]));
        x[0] = hn::BitCast(d, hn::InterleaveLower(pairs, a, c));
        x[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, c));
        x[2] = hn::BitCast(d, hn::InterleaveLower(pairs, b, e));
        x[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, b, e));
    }
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
