// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/channel_sums.hpp"

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/signals/channel_sums.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#include "cpu/fft/unroll.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums Frames frames. If frames are one row apart, the samples of frame f at tap q are those of
// frame f + 1 at tap q - 1, so that each is loaded once. Every path adds terms in the same order.
template <int Frames, bool sliding, class Real>
HWY_INLINE void sum_frames(const PhaseSums<Real>& sums, int first) {
    constexpr index_t block = phase_block<Real>;
    const hn::CappedTag<Real, static_cast<std::size_t>(block)> d;
    using Vector = hn::Vec<decltype(d)>;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const index_t terms = sums.terms, row = sums.row;
    const Real* const window = sums.window + first * sums.frame;
    for (index_t at = 0; at < sums.blocks * block; at += lanes) {
        const Real* const taps = sums.taps + at / block * terms * block + at % block;
        const Real* const x = window + at;
        Vector sum[static_cast<unsigned>(Frames)];
        CONVOLUME_UNROLL
        for (int f = 0; f < Frames; ++f) sum[f] = hn::Zero(d);
        if constexpr (sliding) {
            Vector held[static_cast<unsigned>(Frames)];
            CONVOLUME_UNROLL
            for (int f = 0; f + 1 < Frames; ++f) held[f] = hn::LoadU(d, x + f * row);
            index_t q = 0;
            for (; q + Frames <= terms; q += Frames) {
                CONVOLUME_UNROLL
                for (int u = 0; u < Frames; ++u) {
                    const Vector tap = hn::Load(d, taps + (q + u) * block);
                    held[(u + Frames - 1) % Frames] = hn::LoadU(d, x + (q + u + Frames - 1) * row);
                    CONVOLUME_UNROLL
                    for (int f = 0; f < Frames; ++f)
                        sum[f] = hn::MulAdd(tap, held[(u + f) % Frames], sum[f]);
                }
            }
            for (; q < terms; ++q) {
                const Vector tap = hn::Load(d, taps + q * block);
                CONVOLUME_UNROLL
                for (int f = 0; f < Frames; ++f)
                    sum[f] = hn::MulAdd(tap, hn::LoadU(d, x + (q + f) * row), sum[f]);
            }
        } else {
            for (index_t q = 0; q < terms; ++q) {
                const Vector tap = hn::Load(d, taps + q * block);
                CONVOLUME_UNROLL
                for (int f = 0; f < Frames; ++f)
                    sum[f] = hn::MulAdd(tap, hn::LoadU(d, x + q * row + f * sums.frame), sum[f]);
            }
        }
        CONVOLUME_UNROLL
        for (int f = 0; f < Frames; ++f) hn::StoreU(sum[f], d, sums.targets[first + f] + at);
    }
}

// With 16 registers, eight sums and eight samples do not fit.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int most_frames = 4;
#else
inline constexpr int most_frames = 8;
#endif

template <bool sliding, class Real>
HWY_INLINE void sum_all_frames(const PhaseSums<Real>& sums) {
    int first = 0;
    for (; first + most_frames <= sums.frames; first += most_frames)
        sum_frames<most_frames, sliding>(sums, first);
    for (; first + 2 <= sums.frames; first += 2) sum_frames<2, sliding>(sums, first);
    if (first < sums.frames) sum_frames<1, sliding>(sums, first);
}

template <class Real>
HWY_INLINE void add_all_products(const Real* taps, const Real* values, Real* sum, index_t count) {
    const hn::ScalableTag<Real> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(
            hn::MulAdd(hn::LoadU(d, taps + i), hn::LoadU(d, values + i), hn::LoadU(d, sum + i)), d,
            sum + i);
    const hn::CappedTag<Real, 1> one;  // rounds as the other vectors do
    for (; i < count; ++i)
        hn::StoreU(hn::MulAdd(hn::LoadU(one, taps + i), hn::LoadU(one, values + i),
                              hn::LoadU(one, sum + i)),
                   one, sum + i);
}

template <class Real>
void sum_all_phases(const PhaseSums<Real>& sums) {
    if (sums.frame == sums.row)
        sum_all_frames<true>(sums);
    else
        sum_all_frames<false>(sums);
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_CHANNELS(Real)                                     \
    static constexpr auto& sum_phases_##Real = sum_all_phases<Real>; \
    static constexpr auto& add_products_##Real = add_all_products<Real>;
CONVOLUME_CHANNELS(float)
CONVOLUME_CHANNELS(double)
#undef CONVOLUME_CHANNELS

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

#define CONVOLUME_CHANNELS(Real)                                                        \
    HWY_EXPORT(sum_phases_##Real);                                                      \
    HWY_EXPORT(add_products_##Real);                                                    \
    void sum_phases(const PhaseSums<Real>& sums) {                                      \
        HWY_DYNAMIC_DISPATCH(sum_phases_##Real)(sums);                                  \
    }                                                                                   \
    void add_products(const Real* taps, const Real* values, Real* sum, index_t count) { \
        HWY_DYNAMIC_DISPATCH(add_products_##Real)(taps, values, sum, count);            \
    }
CONVOLUME_CHANNELS(float)
CONVOLUME_CHANNELS(double)
#undef CONVOLUME_CHANNELS

}  // namespace convolume::cpu
#endif
