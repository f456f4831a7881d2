// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/stream_loops.hpp"

#define CONVOLUME_SCALABLE_VECTORS
#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/signals/stream_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
HWY_INLINE void rotate_in_all(const Real* re, const Real* im, const Real* factors, Real* z,
                              index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(tag)> cosine, sine;
        hn::LoadInterleaved2(tag, factors + 2 * i, cosine, sine);
        const auto a = hn::LoadU(tag, re + i);
        const auto b = hn::LoadU(tag, im + i);
        hn::StoreInterleaved2(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)),
                              hn::MulAdd(b, cosine, hn::Mul(a, sine)), tag, z + 2 * i);
    }
    for (; i < count; ++i) {
        z[2 * i] = re[i] * factors[2 * i] - im[i] * factors[2 * i + 1];
        z[2 * i + 1] = re[i] * factors[2 * i + 1] + im[i] * factors[2 * i];
    }
}

template <class Real>
HWY_INLINE void rotate_out_all(const Real* z, const Real* factors, Real* y, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(tag)> cosine, sine, re, im;
        hn::LoadInterleaved2(tag, factors + 2 * i, cosine, sine);
        hn::LoadInterleaved2(tag, z + 2 * i, re, im);
        hn::StoreU(hn::NegMulAdd(re, sine, hn::Mul(im, cosine)), tag, y + i);
    }
    for (; i < count; ++i) y[i] = z[2 * i + 1] * factors[2 * i] - z[2 * i] * factors[2 * i + 1];
}

#if HWY_TARGET != HWY_SCALAR  // vectors of one lane hold no pairs
// Complex numbers are interleaved, as in vector_loops.cpp.
template <class Vector>
HWY_INLINE Vector times_i(Vector a) {
    const hn::DFromV<Vector> tag;
    const auto swapped = hn::Reverse2(tag, a);
    return hn::OddEven(swapped, hn::Neg(swapped));
}
template <class Vector>
HWY_INLINE Vector times(Vector a, Vector b) {
    const hn::DFromV<Vector> tag;
    const auto crossed = hn::Mul(hn::DupOdd(a), hn::Reverse2(tag, b));
    return hn::MulAdd(hn::DupEven(a), b, hn::OddEven(crossed, hn::Neg(crossed)));
}

template <class Real>
HWY_INLINE index_t split_vectors(Real* z, index_t quarter, const Real* factors, index_t i,
                                 index_t end) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    for (; 2 * i + lanes <= 2 * end; i += lanes / 2) {
        Real* const at = z + 2 * i;
        const auto a = hn::LoadU(tag, at);
        const auto b = hn::LoadU(tag, at + 2 * quarter);
        const auto c = hn::LoadU(tag, at + 4 * quarter);
        const auto d = hn::LoadU(tag, at + 6 * quarter);
        const auto sum = hn::Add(a, c), difference = hn::Sub(a, c);
        const auto other_sum = hn::Add(b, d), turned = times_i(hn::Sub(b, d));
        const Real* const factor = factors + 2 * i;
        hn::StoreU(hn::Add(sum, other_sum), tag, at);
        hn::StoreU(times(hn::LoadU(tag, factor), hn::Sub(difference, turned)), tag,
                   at + 2 * quarter);
        hn::StoreU(times(hn::LoadU(tag, factor + 2 * quarter), hn::Sub(sum, other_sum)), tag,
                   at + 4 * quarter);
        hn::StoreU(times(hn::LoadU(tag, factor + 4 * quarter), hn::Add(difference, turned)), tag,
                   at + 6 * quarter);
    }
    return i;
}

template <class Vector>
HWY_INLINE Vector conjugate(Vector a) {
    return hn::OddEven(hn::Neg(a), a);
}

template <class Real>
HWY_INLINE index_t merge_vectors(Real* z, index_t quarter, const Real* factors, index_t i,
                                 index_t end) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    for (; 2 * i + lanes <= 2 * end; i += lanes / 2) {
        Real* const at = z + 2 * i;
        const Real* const factor = factors + 2 * i;
        const auto a = hn::LoadU(tag, at);
        const auto b = times(conjugate(hn::LoadU(tag, factor)), hn::LoadU(tag, at + 2 * quarter));
        const auto c = times(conjugate(hn::LoadU(tag, factor + 2 * quarter)),
                             hn::LoadU(tag, at + 4 * quarter));
        const auto d = times(conjugate(hn::LoadU(tag, factor + 4 * quarter)),
                             hn::LoadU(tag, at + 6 * quarter));
        const auto sum = hn::Add(a, c), difference = hn::Sub(a, c);
        const auto other_sum = hn::Add(b, d), turned = times_i(hn::Sub(b, d));
        hn::StoreU(hn::Add(sum, other_sum), tag, at);
        hn::StoreU(hn::Add(difference, turned), tag, at + 2 * quarter);
        hn::StoreU(hn::Sub(sum, other_sum), tag, at + 4 * quarter);
        hn::StoreU(hn::Sub(difference, turned), tag, at + 6 * quarter);
    }
    return i;
}
#endif

template <class Real>
HWY_INLINE std::complex<Real> plain_product(std::complex<Real> a, std::complex<Real> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class Real>
HWY_INLINE void split_all(Real* z, index_t quarter, const Real* factors, index_t i, index_t end) {
    using Complex = std::complex<Real>;
#if HWY_TARGET != HWY_SCALAR
    i = split_vectors(z, quarter, factors, i, end);
#endif
    auto* const at = reinterpret_cast<Complex*>(z);
    const auto* const factor = reinterpret_cast<const Complex*>(factors);
    for (; i < end; ++i) {
        const Complex a = at[i], b = at[i + quarter], c = at[i + 2 * quarter],
                      d = at[i + 3 * quarter];
        const Complex turned{-(b - d).imag(), (b - d).real()};
        at[i] = (a + c) + (b + d);
        at[i + quarter] = plain_product(factor[i], (a - c) - turned);
        at[i + 2 * quarter] = plain_product(factor[i + quarter], (a + c) - (b + d));
        at[i + 3 * quarter] = plain_product(factor[i + 2 * quarter], (a - c) + turned);
    }
}

template <class Real>
HWY_INLINE void merge_all(Real* z, index_t quarter, const Real* factors, index_t i, index_t end) {
    using Complex = std::complex<Real>;
#if HWY_TARGET != HWY_SCALAR
    i = merge_vectors(z, quarter, factors, i, end);
#endif
    auto* const at = reinterpret_cast<Complex*>(z);
    const auto* const factor = reinterpret_cast<const Complex*>(factors);
    for (; i < end; ++i) {
        const Complex a = at[i];
        const Complex b = plain_product(std::conj(factor[i]), at[i + quarter]);
        const Complex c = plain_product(std::conj(factor[i + quarter]), at[i + 2 * quarter]);
        const Complex d = plain_product(std::conj(factor[i + 2 * quarter]), at[i + 3 * quarter]);
        const Complex turned{-(b - d).imag(), (b - d).real()};
        at[i] = (a + c) + (b + d);
        at[i + quarter] = (a - c) + turned;
        at[i + 2 * quarter] = (a + c) - (b + d);
        at[i + 3 * quarter] = (a - c) - turned;
    }
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_VECTORS(Real)                                      \
    static constexpr auto& rotate_in_##Real = rotate_in_all<Real>;   \
    static constexpr auto& rotate_out_##Real = rotate_out_all<Real>; \
    static constexpr auto& split_##Real = split_all<Real>;           \
    static constexpr auto& merge_##Real = merge_all<Real>;
CONVOLUME_VECTORS(float)
CONVOLUME_VECTORS(double)
#undef CONVOLUME_VECTORS

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {
template <class Real>
const Real* reals(const std::complex<Real>* z) {
    return reinterpret_cast<const Real*>(z);
}
template <class Real>
Real* reals(std::complex<Real>* z) {
    return reinterpret_cast<Real*>(z);
}
}  // namespace

#define CONVOLUME_VECTORS(Real)                                                              \
    HWY_EXPORT(rotate_in_##Real);                                                            \
    HWY_EXPORT(rotate_out_##Real);                                                           \
    HWY_EXPORT(split_##Real);                                                                \
    HWY_EXPORT(merge_##Real);                                                                \
    void rotate_in(const Real* re, const Real* im, const std::complex<Real>* factors,        \
                   std::complex<Real>* z, index_t count) {                                   \
        HWY_DYNAMIC_DISPATCH(rotate_in_##Real)(re, im, reals(factors), reals(z), count);     \
    }                                                                                        \
    void rotate_out(const std::complex<Real>* z, const std::complex<Real>* factors, Real* y, \
                    index_t count) {                                                         \
        HWY_DYNAMIC_DISPATCH(rotate_out_##Real)(reals(z), reals(factors), y, count);         \
    }                                                                                        \
    void split_by_four(const RadixFour<Real>& stage) {                                       \
        HWY_DYNAMIC_DISPATCH(split_##Real)                                                   \
        (reals(stage.z), stage.quarter, reals(stage.factors), stage.begin, stage.end);       \
    }                                                                                        \
    void merge_by_four(const RadixFour<Real>& stage) {                                       \
        HWY_DYNAMIC_DISPATCH(merge_##Real)                                                   \
        (reals(stage.z), stage.quarter, reals(stage.factors), stage.begin, stage.end);       \
    }
CONVOLUME_VECTORS(float)
CONVOLUME_VECTORS(double)
#undef CONVOLUME_VECTORS

}  // namespace convolume::cpu
#endif
