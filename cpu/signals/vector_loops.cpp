// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/vector_loops.hpp"

#include <limits>

#define CONVOLUME_SCALABLE_VECTORS
#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/signals/vector_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Complex numbers are pairs of reals: re, im. Products are computed on interleaved pairs:
//   (a_re, a_re) (b_re, b_im) + (-a_im, a_im) (b_im, b_re).
template <class Real>
HWY_INLINE void product(const Real* a, const Real* b, Real* out, index_t count) {
    index_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // vectors of one lane hold no pairs
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    for (; 2 * i + lanes <= 2 * count; i += lanes / 2) {
        const auto left = hn::LoadU(tag, a + 2 * i);
        const auto right = hn::LoadU(tag, b + 2 * i);
        const auto crossed = hn::Mul(hn::DupOdd(left), hn::Reverse2(tag, right));
        const auto sum = hn::OddEven(crossed, hn::Neg(crossed));
        hn::StoreU(hn::MulAdd(hn::DupEven(left), right, sum), tag, out + 2 * i);
    }
#endif
    for (; i < count; ++i) {
        const Real re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        const Real im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
        out[2 * i] = re;
        out[2 * i + 1] = im;
    }
}

template <class Real>
HWY_INLINE void product_sum(const Real* const* a, const Real* const* b, index_t terms,
                            bool accumulate, Real* sum, index_t count) {
    index_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    const auto zero = hn::Zero(tag);
    for (; 2 * i + 2 * lanes <= 2 * count; i += lanes) {
        Real* const out = sum + 2 * i;
        auto straight0 = accumulate ? hn::LoadU(tag, out) : zero;
        auto straight1 = accumulate ? hn::LoadU(tag, out + lanes) : zero;
        auto crossed0 = zero;
        auto crossed1 = zero;
        for (index_t t = 0; t < terms; ++t) {
            const auto left0 = hn::LoadU(tag, a[t] + 2 * i);
            const auto left1 = hn::LoadU(tag, a[t] + 2 * i + lanes);
            const auto right0 = hn::LoadU(tag, b[t] + 2 * i);
            const auto right1 = hn::LoadU(tag, b[t] + 2 * i + lanes);
            straight0 = hn::MulAdd(hn::DupEven(left0), right0, straight0);
            straight1 = hn::MulAdd(hn::DupEven(left1), right1, straight1);
            crossed0 = hn::MulAdd(hn::DupOdd(left0), hn::Reverse2(tag, right0), crossed0);
            crossed1 = hn::MulAdd(hn::DupOdd(left1), hn::Reverse2(tag, right1), crossed1);
        }
        hn::StoreU(hn::Add(straight0, hn::OddEven(crossed0, hn::Neg(crossed0))), tag, out);
        hn::StoreU(hn::Add(straight1, hn::OddEven(crossed1, hn::Neg(crossed1))), tag, out + lanes);
    }
#endif
    for (; i < count; ++i) {
        Real re = accumulate ? sum[2 * i] : 0;
        Real im = accumulate ? sum[2 * i + 1] : 0;
        for (index_t t = 0; t < terms; ++t) {
            const Real* const left = a[t] + 2 * i;
            const Real* const right = b[t] + 2 * i;
            re += left[0] * right[0] - left[1] * right[1];
            im += left[0] * right[1] + left[1] * right[0];
        }
        sum[2 * i] = re;
        sum[2 * i + 1] = im;
    }
}

template <class Real>
HWY_INLINE void interleave_all(const Real* re, const Real* im, Real* z, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreInterleaved2(hn::LoadU(tag, re + i), hn::LoadU(tag, im + i), tag, z + 2 * i);
    for (; i < count; ++i) {
        z[2 * i] = re[i];
        z[2 * i + 1] = im[i];
    }
}

template <class Real>
HWY_INLINE void deinterleave_all(const Real* z, Real* re, Real* im, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(tag)> even, odd;
        hn::LoadInterleaved2(tag, z + 2 * i, even, odd);
        hn::StoreU(even, tag, re + i);
        hn::StoreU(odd, tag, im + i);
    }
    for (; i < count; ++i) {
        re[i] = z[2 * i];
        im[i] = z[2 * i + 1];
    }
}

template <class Real>
HWY_INLINE void add_all(const Real* a, Real* sum, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::Add(hn::LoadU(tag, a + i), hn::LoadU(tag, sum + i)), tag, sum + i);
    for (; i < count; ++i) sum[i] += a[i];
}

template <class Real>
HWY_INLINE void square_all(const Real* y, Real* out, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto value = hn::LoadU(tag, y + i);
        hn::StoreU(hn::Mul(value, value), tag, out + i);
    }
    for (; i < count; ++i) out[i] = y[i] * y[i];
}

template <class Real>
HWY_INLINE void square_pairs(const Real* y, Real* out, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(tag)> re, im;
        hn::LoadInterleaved2(tag, y + 2 * i, re, im);
        hn::StoreU(hn::MulAdd(re, re, hn::Mul(im, im)), tag, out + i);
    }
    for (; i < count; ++i) out[i] = y[2 * i] * y[2 * i] + y[2 * i + 1] * y[2 * i + 1];
}

template <class Real>
HWY_INLINE Real largest_of_all(const Real* values, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    Real best = -std::numeric_limits<Real>::infinity();
    index_t i = 0;
    if (count >= lanes) {
        // A comparison with NaN is false, which keeps the value found so far.
        auto highest = hn::Set(tag, best);
        for (; i + lanes <= count; i += lanes) {
            const auto value = hn::LoadU(tag, values + i);
            highest = hn::IfThenElse(hn::Gt(value, highest), value, highest);
        }
        best = hn::GetLane(hn::MaxOfLanes(tag, highest));
    }
    for (; i < count; ++i)
        if (values[i] > best) best = values[i];
    return best;
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_VECTORS(Real)                                          \
    static constexpr auto& multiply_##Real = product<Real>;              \
    static constexpr auto& product_sum_##Real = product_sum<Real>;       \
    static constexpr auto& interleave_##Real = interleave_all<Real>;     \
    static constexpr auto& deinterleave_##Real = deinterleave_all<Real>; \
    static constexpr auto& add_##Real = add_all<Real>;                   \
    static constexpr auto& square_##Real = square_all<Real>;             \
    static constexpr auto& square_pairs_##Real = square_pairs<Real>;     \
    static constexpr auto& largest_##Real = largest_of_all<Real>;
CONVOLUME_VECTORS(float)
CONVOLUME_VECTORS(double)
#undef CONVOLUME_VECTORS

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {
template <class Real>
const Real* pairs(const std::complex<Real>* z) {
    return reinterpret_cast<const Real*>(z);
}
template <class Real>
Real* pairs(std::complex<Real>* z) {
    return reinterpret_cast<Real*>(z);
}
}  // namespace

#define CONVOLUME_VECTORS(Real)                                                                   \
    HWY_EXPORT(multiply_##Real);                                                                  \
    HWY_EXPORT(product_sum_##Real);                                                               \
    HWY_EXPORT(interleave_##Real);                                                                \
    HWY_EXPORT(deinterleave_##Real);                                                              \
    HWY_EXPORT(add_##Real);                                                                       \
    HWY_EXPORT(square_##Real);                                                                    \
    HWY_EXPORT(square_pairs_##Real);                                                              \
    HWY_EXPORT(largest_##Real);                                                                   \
    void multiply(const std::complex<Real>* a, const std::complex<Real>* b,                       \
                  std::complex<Real>* out, index_t count) {                                       \
        HWY_DYNAMIC_DISPATCH(multiply_##Real)(pairs(a), pairs(b), pairs(out), count);             \
    }                                                                                             \
    void sum_products(const std::complex<Real>* const* a, const std::complex<Real>* const* b,     \
                      index_t terms, bool accumulate, std::complex<Real>* sum, index_t count) {   \
        HWY_DYNAMIC_DISPATCH(product_sum_##Real)                                                  \
        (reinterpret_cast<const Real* const*>(a), reinterpret_cast<const Real* const*>(b), terms, \
         accumulate, pairs(sum), count);                                                          \
    }                                                                                             \
    void interleave(const Real* re, const Real* im, std::complex<Real>* z, index_t count) {       \
        HWY_DYNAMIC_DISPATCH(interleave_##Real)(re, im, pairs(z), count);                         \
    }                                                                                             \
    void deinterleave(const std::complex<Real>* z, Real* re, Real* im, index_t count) {           \
        HWY_DYNAMIC_DISPATCH(deinterleave_##Real)(pairs(z), re, im, count);                       \
    }                                                                                             \
    void add(const Real* a, Real* sum, index_t count) {                                           \
        HWY_DYNAMIC_DISPATCH(add_##Real)(a, sum, count);                                          \
    }                                                                                             \
    void power(const Real* y, Real* out, index_t count) {                                         \
        HWY_DYNAMIC_DISPATCH(square_##Real)(y, out, count);                                       \
    }                                                                                             \
    void power(const std::complex<Real>* y, Real* out, index_t count) {                           \
        HWY_DYNAMIC_DISPATCH(square_pairs_##Real)(pairs(y), out, count);                          \
    }                                                                                             \
    Real largest(const Real* values, index_t count) {                                             \
        return HWY_DYNAMIC_DISPATCH(largest_##Real)(values, count);                               \
    }
CONVOLUME_VECTORS(float)
CONVOLUME_VECTORS(double)
#undef CONVOLUME_VECTORS

}  // namespace convolume::cpu
#endif
