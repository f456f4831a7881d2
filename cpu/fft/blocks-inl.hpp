// SPDX-License-Identifier: Apache-2.0
// Transposition of rows in registers. Compiled once for each instruction set that includes it.

#if defined(CONVOLUME_CPU_FFT_BLOCKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#undef CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#else
#define CONVOLUME_CPU_FFT_BLOCKS_INL_HPP
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "convolume/shape.hpp"
#include "cpu/fft/unroll.hpp"

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

// Transposes the matrix of 4 or 2 vectors whose numbers are blocks.
template <int count, class D>
HWY_INLINE void transpose_whole_blocks(D d, hn::Vec<D>** x) {
    static_assert(count == 1 || count == 2 || count == 4);
    if constexpr (count == 2) {
        const auto low = hn::ConcatLowerLower(d, *x[1], *x[0]);
        *x[1] = hn::ConcatUpperUpper(d, *x[1], *x[0]);
        *x[0] = low;
    }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if constexpr (count == 4) {
        const hn::Repartition<float, D> f;
        const auto shuffled = [&](auto imm, const auto& a, const auto& b) HWY_ATTR {
            return hn::Vec<decltype(f)>{_mm512_shuffle_f32x4(a.raw, b.raw, decltype(imm)::value)};
        };
        constexpr std::integral_constant<int, 0x44> low{};
        constexpr std::integral_constant<int, 0xEE> high{};
        constexpr std::integral_constant<int, 0x88> even{};
        constexpr std::integral_constant<int, 0xDD> odd{};
        const auto a = hn::BitCast(f, *x[0]), b = hn::BitCast(f, *x[1]);
        const auto c = hn::BitCast(f, *x[2]), e = hn::BitCast(f, *x[3]);
        const auto ab_low = shuffled(low, a, b), ab_high = shuffled(high, a, b);
        const auto ce_low = shuffled(low, c, e), ce_high = shuffled(high, c, e);
        *x[0] = hn::BitCast(d, shuffled(even, ab_low, ce_low));
        *x[1] = hn::BitCast(d, shuffled(odd, ab_low, ce_low));
        *x[2] = hn::BitCast(d, shuffled(even, ab_high, ce_high));
        *x[3] = hn::BitCast(d, shuffled(odd, ab_high, ce_high));
    }
#endif
}

// Transposes the matrix of as many vectors as there are numbers in one.
template <class D>
HWY_INLINE void transpose_square(D d, hn::Vec<D>* x) {
    constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
    constexpr int block = block_reals<hn::TFromD<D>>, blocks = lanes / block;
    CONVOLUME_UNROLL
    for (int j = 0; j < lanes; j += block) transpose_blocks(d, x + j);
    CONVOLUME_UNROLL
    for (int i = 0; i < block; ++i) {
        hn::Vec<D>* column[static_cast<unsigned>(blocks)];
        CONVOLUME_UNROLL
        for (int b = 0; b < blocks; ++b) column[b] = x + b * block + i;
        transpose_whole_blocks<blocks>(d, column);
    }
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
