// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/polyphase_loops.hpp"

#include <algorithm>

#define CONVOLUME_SCALABLE_VECTORS
#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/signals/polyphase_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Terms that a lane sums one after another. Sums of many taps are sums of such sums, whose rounding
// errors stay small.
constexpr index_t most_terms = 64;

#if HWY_TARGET == HWY_SCALAR

template <class Real>
using Lanes = hn::CappedTag<Real, 1>;

template <class Real>
index_t lanes_of() {
    return 1;
}

template <class Real>
void sum_all_phases(const PolyphaseTaps<Real>& phases, index_t first, const Real* samples,
                    bool accumulate, Real* out, index_t count) {
    index_t q = first, base = -phases.newest[first];
    for (index_t n = 0; n < count; ++n) {
        const Real* const x = samples + (base + phases.newest[q]);
        const Real* const h = phases.taps + phases.begin[q];
        Real sum = 0;
        for (index_t begin = 0; begin < phases.padded_taps; begin += most_terms) {
            Real part = 0;
            for (index_t j = begin; j < std::min(begin + most_terms, phases.padded_taps); ++j)
                part += x[j] * h[j];
            sum += part;
        }
        out[n] = accumulate ? out[n] + sum : sum;
        if (++q == phases.cycle) {
            q = 0;
            base += phases.samples_per_cycle;
        }
    }
}

#else

// Vectors have at most two blocks of 128 bits, since the taps of a phase are few.
#if HWY_HAVE_SCALABLE || HWY_MAX_BYTES < 32
constexpr int blocks = 1;
#else
constexpr int blocks = 2;
#endif
template <class Real>
using Lanes = hn::CappedTag<Real, 16 * blocks / sizeof(Real)>;

template <class Real>
index_t lanes_of() {
    return 16 * blocks / sizeof(Real);
}

// Computes the sums of four results, lane by lane. With `one_phase` all have the same taps.
template <bool one_phase, class Real, class V = hn::Vec<Lanes<Real> > >
HWY_INLINE void sum_four(const Real* const* samples, const Real* const* taps,
                         const PolyphaseTaps<Real>& phases, V& a, V& b, V& c, V& d) {
    const Lanes<Real> tag;
    const auto used = hn::Not(hn::FirstN(tag, static_cast<std::size_t>(phases.padding)));
    const Real* const x0 = samples[0];
    const Real* const x1 = samples[1];
    const Real* const x2 = samples[2];
    const Real* const x3 = samples[3];
    const Real* const h0 = taps[0];
    const Real* const h1 = one_phase ? h0 : taps[1];
    const Real* const h2 = one_phase ? h0 : taps[2];
    const Real* const h3 = one_phase ? h0 : taps[3];
    const auto first = [&](const Real* x, const Real* h) HWY_ATTR {
        return hn::Mul(hn::IfThenElseZero(used, hn::LoadU(tag, x)), hn::LoadU(tag, h));
    };
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    const auto add = [&](index_t begin, index_t end, V& sum0, V& sum1, V& sum2, V& sum3) HWY_ATTR {
        for (index_t j = begin; j < end; j += lanes) {
            sum0 = hn::MulAdd(hn::LoadU(tag, x0 + j), hn::LoadU(tag, h0 + j), sum0);
            sum1 = hn::MulAdd(hn::LoadU(tag, x1 + j), hn::LoadU(tag, h1 + j), sum1);
            sum2 = hn::MulAdd(hn::LoadU(tag, x2 + j), hn::LoadU(tag, h2 + j), sum2);
            sum3 = hn::MulAdd(hn::LoadU(tag, x3 + j), hn::LoadU(tag, h3 + j), sum3);
        }
    };
    a = first(x0, h0);
    b = first(x1, h1);
    c = first(x2, h2);
    d = first(x3, h3);
    const index_t part = most_terms * lanes;
    add(lanes, std::min(part, phases.padded_taps), a, b, c, d);
    for (index_t begin = part; begin < phases.padded_taps; begin += part) {
        V sum0 = hn::Zero(tag), sum1 = sum0, sum2 = sum0, sum3 = sum0;
        add(begin, std::min(begin + part, phases.padded_taps), sum0, sum1, sum2, sum3);
        a = hn::Add(a, sum0);
        b = hn::Add(b, sum1);
        c = hn::Add(c, sum2);
        d = hn::Add(d, sum3);
    }
}

// Adds up the lanes of each block: result i of a block is the sum over that block of argument i.
HWY_INLINE hn::Vec<Lanes<float> > add_lanes(hn::Vec<Lanes<float> > a, hn::Vec<Lanes<float> > b,
                                            hn::Vec<Lanes<float> > c, hn::Vec<Lanes<float> > d) {
    const Lanes<float> tag;
    const hn::Repartition<double, Lanes<float> > pairs;
    const auto ab =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)));
    const auto cd =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d)));
    return hn::Add(hn::BitCast(tag, hn::InterleaveLower(pairs, ab, cd)),
                   hn::BitCast(tag, hn::InterleaveUpper(pairs, ab, cd)));
}
HWY_INLINE hn::Vec<Lanes<double> > add_lanes(hn::Vec<Lanes<double> > a, hn::Vec<Lanes<double> > b) {
    const Lanes<double> tag;
    return hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
}

// Adds two vectors' blocks: those of `low` are the lower half of the result.
template <class V, class Tag>
HWY_INLINE V add_two_blocks(Tag tag, V low, V high) {
    return hn::Add(hn::ConcatLowerLower(tag, high, low), hn::ConcatUpperUpper(tag, high, low));
}

template <class Real>
constexpr int group_results = sizeof(Real) == 4 ? 4 * blocks : 4;

// Computes group_results<Real> results.
template <bool one_phase>
HWY_INLINE void sum_group(const PolyphaseTaps<float>& phases, const float* const* samples,
                          const float* const* taps, float* out) {
    const Lanes<float> tag;
    hn::Vec<Lanes<float> > a, b, c, d;
    sum_four<one_phase>(samples, taps, phases, a, b, c, d);
    const auto low = add_lanes(a, b, c, d);
#if HWY_HAVE_SCALABLE || HWY_MAX_BYTES < 32
    hn::StoreU(low, tag, out);
#else
    sum_four<one_phase>(samples + 4, taps + 4, phases, a, b, c, d);
    hn::StoreU(add_two_blocks(tag, low, add_lanes(a, b, c, d)), tag, out);
#endif
}
template <bool one_phase>
HWY_INLINE void sum_group(const PolyphaseTaps<double>& phases, const double* const* samples,
                          const double* const* taps, double* out) {
    const Lanes<double> tag;
    hn::Vec<Lanes<double> > a, b, c, d;
    sum_four<one_phase>(samples, taps, phases, a, b, c, d);
    const auto low = add_lanes(a, b);
    const auto high = add_lanes(c, d);
#if HWY_HAVE_SCALABLE || HWY_MAX_BYTES < 32
    hn::StoreU(low, tag, out);
    hn::StoreU(high, tag, out + 2);
#else
    hn::StoreU(add_two_blocks(tag, low, high), tag, out);
#endif
}

template <bool one_phase, class Real>
HWY_INLINE void sum_groups(const PolyphaseTaps<Real>& phases, index_t first, const Real* samples,
                           bool accumulate, Real* out, index_t count) {
    constexpr int group = group_results<Real>;
    static_assert(group <= most_polyphase_results);
    const index_t* const newest = phases.newest;
    const index_t* const begin = phases.begin;
    const index_t whole_cycles = group / phases.cycle;
    const index_t step = group % phases.cycle;
    index_t q = first, base = -newest[first];
    for (index_t n = 0; n < count; n += group) {
        const Real* x[static_cast<unsigned>(group)];
        const Real* h[static_cast<unsigned>(group)];
        Real sums[static_cast<unsigned>(group)];
        const index_t now = std::min<index_t>(group, count - n);
        // Results beyond the last one repeat it.
        for (int i = 0; i < group; ++i) {
            const index_t at = q + std::min<index_t>(i, now - 1);
            x[i] = samples + (base + newest[at]);
            h[i] = phases.taps + begin[at];
        }
        const bool is_direct = now == group && !accumulate;
        sum_group<one_phase>(phases, x, h, is_direct ? out + n : sums);
        if (!is_direct)
            for (index_t i = 0; i < now; ++i)
                out[n + i] = accumulate ? out[n + i] + sums[i] : sums[i];
        base += whole_cycles * phases.samples_per_cycle;
        q += step;
        if (q >= phases.cycle) {
            q -= phases.cycle;
            base += phases.samples_per_cycle;
        }
    }
}

// Computes whole cycles of results, as many as a group has results. The results of a group are a
// cycle apart and have equal taps, which are read once for four of them.
template <class Real>
HWY_INLINE void sum_cycles(const PolyphaseTaps<Real>& phases, index_t first, const Real* samples,
                           bool accumulate, Real* out) {
    constexpr int group = group_results<Real>;
    index_t q = first, base = -phases.newest[first];
    for (index_t n = 0; n < phases.cycle; ++n) {
        const Real* x[static_cast<unsigned>(group)];
        const Real* h[static_cast<unsigned>(group)];
        Real sums[static_cast<unsigned>(group)];
        const Real* const newest = samples + (base + phases.newest[q]);
        for (int i = 0; i < group; ++i) {
            x[i] = newest + i * phases.samples_per_cycle;
            h[i] = phases.taps + phases.begin[q];
        }
        sum_group<true>(phases, x, h, sums);
        for (int i = 0; i < group; ++i) {
            Real& result = out[n + i * phases.cycle];
            result = accumulate ? result + sums[i] : sums[i];
        }
        if (++q == phases.cycle) {
            q = 0;
            base += phases.samples_per_cycle;
        }
    }
}

template <class Real>
HWY_INLINE void sum_all_phases(const PolyphaseTaps<Real>& phases, index_t first,
                               const Real* samples, bool accumulate, Real* out, index_t count) {
    if (phases.cycle == 1) return sum_groups<true>(phases, first, samples, accumulate, out, count);
    const index_t block = group_results<Real> * phases.cycle;
    for (; count >= block; count -= block) {
        sum_cycles(phases, first, samples, accumulate, out);
        samples += group_results<Real> * phases.samples_per_cycle;
        out += block;
    }
    if (count > 0) sum_groups<false>(phases, first, samples, accumulate, out, count);
}

#endif

template <class Real>
HWY_INLINE void interpolate_all_taps(const Real* const* pieces, const Real* places,
                                     index_t padded_taps, Real* out, index_t count) {
    const Lanes<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    for (index_t n = 0; n < count; ++n, out += padded_taps) {
        const Real* const c0 = pieces[n];
        const Real* const c1 = c0 + padded_taps;
        const Real* const c2 = c1 + padded_taps;
        const Real* const c3 = c2 + padded_taps;
        const auto u = hn::Set(tag, places[n]);
        for (index_t j = 0; j < padded_taps; j += lanes) {
            auto tap = hn::MulAdd(hn::LoadU(tag, c3 + j), u, hn::LoadU(tag, c2 + j));
            tap = hn::MulAdd(tap, u, hn::LoadU(tag, c1 + j));
            hn::StoreU(hn::MulAdd(tap, u, hn::LoadU(tag, c0 + j)), tag, out + j);
        }
    }
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_PHASES(Real)                                       \
    static constexpr auto& lanes_##Real = lanes_of<Real>;            \
    static constexpr auto& sum_phases_##Real = sum_all_phases<Real>; \
    static constexpr auto& interpolate_taps_##Real = interpolate_all_taps<Real>;
CONVOLUME_PHASES(float)
CONVOLUME_PHASES(double)
#undef CONVOLUME_PHASES

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

#define CONVOLUME_PHASES(Real)                                                                   \
    HWY_EXPORT(lanes_##Real);                                                                    \
    HWY_EXPORT(sum_phases_##Real);                                                               \
    HWY_EXPORT(interpolate_taps_##Real);                                                         \
    index_t polyphase_lanes(Real) {                                                              \
        return HWY_DYNAMIC_DISPATCH(lanes_##Real)();                                             \
    }                                                                                            \
    void sum_phases(const PolyphaseTaps<Real>& phases, index_t first, const Real* samples,       \
                    bool accumulate, Real* out, index_t count) {                                 \
        HWY_DYNAMIC_DISPATCH(sum_phases_##Real)(phases, first, samples, accumulate, out, count); \
    }                                                                                            \
    void interpolate_taps(const Real* const* pieces, const Real* places, index_t padded_taps,    \
                          Real* out, index_t count) {                                            \
        HWY_DYNAMIC_DISPATCH(interpolate_taps_##Real)(pieces, places, padded_taps, out, count);  \
    }
CONVOLUME_PHASES(float)
CONVOLUME_PHASES(double)
#undef CONVOLUME_PHASES

}  // namespace convolume::cpu
#endif
