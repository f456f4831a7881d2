// SPDX-License-Identifier: Apache-2.0
// Rows of real and complex samples in and out of vectors. Compiled once for every instruction set.

#if defined(CONVOLUME_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLUME_LANES_INL_HPP
#undef CONVOLUME_LANES_INL_HPP
#else
#define CONVOLUME_LANES_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::decompose::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Complex {
    hn::Vec<D> re;
    hn::Vec<D> im;
};

/// Asks for what the row holds a few lines on: up to 32 rows are read at once, more than hardware
/// follows by itself.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_row(D d, const T* in) {
    constexpr std::size_t bytes_ahead = 256;
    hwy::Prefetch(in + bytes_ahead / sizeof(T));
    return hn::LoadU(d, in);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, hn::Vec<D> v, T* out, bool stream) {
    if (stream) {
        hn::Stream(v, d, out);
    } else {
        hn::StoreU(v, d, out);
    }
}

// Complex rows are taken apart and put together within 128-bit blocks, which is cheap, but leaves
// the samples of two vectors in an order of their own: that of the first half of the samples and of
// the second half, alternating in groups of half a vector. Butterflies do not mind.

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE Complex<D> pair_up(D /*d*/, const Complex<D>& v) {
    return v;
}
template <class D>
HWY_INLINE Complex<D> take_apart(D /*d*/, const Complex<D>& v) {
    return v;
}
#else
template <class D>
HWY_INLINE Complex<D> pair_up(D d, const Complex<D>& v) {
    return {hn::InterleaveLower(d, v.re, v.im), hn::InterleaveUpper(d, v.re, v.im)};
}
template <class D>
HWY_INLINE Complex<D> take_apart(D d, const Complex<D>& v) {
    const Complex<D> once = pair_up(d, v);
    if constexpr (sizeof(hn::TFromD<D>) == 8) return once;
    return pair_up(d, once);
}
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, const Complex<D>& v, T* out, bool stream) {
    const Complex<D> memory = pair_up(d, v);
    store(d, memory.re, out, stream);
    store(d, memory.im, out + hn::Lanes(d), stream);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE Complex<D> load_complex_row(D d, const T* in) {
    return take_apart(d, Complex<D>{load_row(d, in), load_row(d, in + hn::Lanes(d))});
}

/// Brings real rows into the order of complex ones, and back.
template <class D>
class LaneOrder {
  public:
    explicit LaneOrder(D d) {
        constexpr Index piece = lanes * sizeof(T) <= 16 ? lanes : 8 / sizeof(T);
        Index there[lanes];
        Index back[lanes];
        for (Index i = 0; i < lanes; ++i) {
            const Index group = i / piece;
            there[i] = lanes <= piece ? i : group / 2 * piece + i % piece + group % 2 * (lanes / 2);
            back[there[i]] = i;
        }
        there_ = hn::SetTableIndices(d, there);
        back_ = hn::SetTableIndices(d, back);
    }
    HWY_INLINE hn::Vec<D> complex_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, there_);
    }
    HWY_INLINE hn::Vec<D> memory_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, back_);
    }

  private:
    using T = hn::TFromD<D>;
    using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr Index lanes = hn::MaxLanes(D());
    using Table = decltype(hn::SetTableIndices(D(), static_cast<const Index*>(nullptr)));
    Table there_;
    Table back_;
};

}  // namespace convolume::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
