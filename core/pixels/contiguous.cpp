// SPDX-License-Identifier: Apache-2.0
#include "core/pixels/contiguous.hpp"

#include <algorithm>
#include <cstring>

#include "core/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/pixels/contiguous.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::pixels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vector type of T for a loop that also uses S: as many lanes as fit one vector of the wider type.
template <class T, class S>
using TagFor = hn::Rebind<T, hn::ScalableTag<std::conditional_t<(sizeof(S) > sizeof(T)), S, T>>>;

// Converts doubles to floats. Highway's emulation of vectors would store the largest float in place
// of infinities.
template <class D>
HWY_INLINE hn::Vec<D> narrowed(D d, hn::Vec<hn::Rebind<double, D>> v) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
    const hn::Rebind<double, D> of_doubles;
    HWY_ALIGN double doubles[16 / sizeof(double)];
    HWY_ALIGN float floats[16 / sizeof(double)];
    hn::Store(v, of_doubles, doubles);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) floats[i] = static_cast<float>(doubles[i]);
    return hn::LoadU(d, floats);
#else
    return hn::DemoteTo(d, v);
#endif
}

template <class S, class D>
HWY_INLINE hn::Vec<D> load_as(D d, const S* in) {
    using T = hn::TFromD<D>;
    const hn::Rebind<S, D> ds;
    const hn::Rebind<std::int32_t, D> di;
    const auto v = hn::LoadU(ds, in);
    if constexpr (std::is_same_v<S, T>) {
        return v;
    } else if constexpr (std::is_same_v<S, double>) {
        return narrowed(d, v);
    } else if constexpr (std::is_same_v<S, float>) {
        return hn::PromoteTo(d, v);
    } else if constexpr (std::is_same_v<S, std::uint32_t> && std::is_same_v<T, float>) {
        // Both halves are exact, so that the sum is rounded once.
        const auto high = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(v)));
        const auto low = hn::ConvertTo(d, hn::BitCast(di, hn::And(v, hn::Set(ds, 0xFFFFu))));
        return hn::MulAdd(high, hn::Set(d, 65536.0f), low);
    } else if constexpr (std::is_same_v<S, std::uint32_t>) {
        const auto shifted = hn::BitCast(di, hn::Xor(v, hn::Set(ds, 0x80000000u)));
        return hn::Add(hn::PromoteTo(d, shifted), hn::Set(d, 2147483648.0));
    } else {
        const auto integers = [&]() HWY_ATTR {
            if constexpr (std::is_same_v<S, std::int32_t>) {
                return v;
            } else {
                return hn::PromoteTo(di, v);
            }
        }();
        if constexpr (std::is_same_v<T, float>) {
            return hn::ConvertTo(d, integers);
        } else {
            return hn::PromoteTo(d, integers);
        }
    }
}

// Converts integral values within the range of int32.
template <class D>
HWY_INLINE auto to_int32(D /*d*/, hn::Vec<D> v) {
    const hn::Rebind<std::int32_t, D> di;
    if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
        return hn::ConvertTo(di, v);
    } else {
        return hn::DemoteTo(di, v);
    }
}

// Stores integral values between S's least value and largest_value<S, T>(). Where `high` is set,
// stores S's largest value.
template <class S, class D>
HWY_INLINE void store_integers(D d, hn::Vec<D> v, hn::Mask<D> high, S* out) {
    using T = hn::TFromD<D>;
    const hn::Rebind<S, D> ds;
    if constexpr (sizeof(S) < 4) {
        hn::StoreU(hn::DemoteTo(ds, to_int32(d, v)), ds, out);
    } else if constexpr (std::is_same_v<S, std::int32_t>) {
        auto integers = to_int32(d, v);
        if constexpr (std::is_same_v<T, float>) {
            integers = hn::IfThenElse(hn::RebindMask(ds, high),
                                      hn::Set(ds, std::numeric_limits<S>::max()), integers);
        }
        hn::StoreU(integers, ds, out);
    } else {
        // Only values beyond int32 are shifted, because small values would lose their low bits.
        const auto half = hn::Set(d, static_cast<T>(2147483648.0));
        const auto beyond = hn::Ge(v, half);
        const auto shifted = to_int32(d, hn::Sub(v, hn::IfThenElseZero(beyond, half)));
        const auto bit = to_int32(d, hn::IfThenElseZero(beyond, hn::Neg(half)));
        auto integers = hn::BitCast(ds, hn::Xor(shifted, bit));
        if constexpr (std::is_same_v<T, float>) {
            const hn::Rebind<std::int32_t, D> di;
            const auto ones = hn::VecFromMask(di, hn::RebindMask(di, high));
            integers = hn::Or(integers, hn::BitCast(ds, ones));
        }
        hn::StoreU(integers, ds, out);
    }
}

template <class T>
bool all_finite_run(const T* values, index_t count) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    auto sum0 = hn::Zero(d);  // v - v is 0, or NaN where v is not finite
    auto sum1 = hn::Zero(d);
    index_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        const auto v0 = hn::LoadU(d, values + i);
        const auto v1 = hn::LoadU(d, values + i + lanes);
        sum0 = hn::Add(sum0, hn::Sub(v0, v0));
        sum1 = hn::Add(sum1, hn::Sub(v1, v1));
    }
    bool finite = hn::AllTrue(d, hn::Eq(hn::Add(sum0, sum1), hn::Zero(d)));
    for (; i < count; ++i) finite = finite && std::isfinite(values[i]);
    return finite;
}

template <class T, class S>
index_t load_typed(const S* in, index_t count, const LoadOptions& options, T* out) {
    const TagFor<T, S> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const T subtract = static_cast<T>(options.subtract);
    if constexpr (std::is_floating_point_v<S>) {
        if (options.nonfinite_to_zero && !HWY_NAMESPACE::all_finite_run(in, count)) {
            index_t replaced = 0;
            for (index_t i = 0; i < count; ++i) {
                const bool finite = std::isfinite(in[i]);
                replaced += finite ? 0 : 1;
                out[i] = (finite ? static_cast<T>(in[i]) : T{0}) - subtract;
            }
            return replaced;
        }
    }
    if constexpr (std::is_same_v<S, T>) {
        if (subtract == T{0}) {
            std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(T));
            return 0;
        }
    }
    const auto minus = hn::Set(d, subtract);
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::StoreU(hn::Sub(load_as(d, in + i), minus), d, out + i);
    }
    for (; i < count; ++i) out[i] = static_cast<T>(in[i]) - subtract;
    return 0;
}

template <class S, class T>
ClampCount store_integers_typed(const T* in, index_t count, T add, S* out) {
    const TagFor<T, S> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const auto plus = hn::Set(d, add);
    const auto least = hn::Set(d, static_cast<T>(std::numeric_limits<S>::min()));
    const auto largest = hn::Set(d, largest_value<S, T>());
    ClampCount clamped;
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto v = hn::Round(hn::Add(hn::LoadU(d, in + i), plus));
        const auto number = hn::Eq(v, v);
        const auto low = hn::Lt(v, least);
        const auto high = hn::Gt(v, largest);
        const auto inside = hn::Min(hn::Max(v, least), largest);
        store_integers(d, hn::IfThenElseZero(number, inside), high, out + i);
        clamped.low +=
            static_cast<index_t>(hn::CountTrue(d, low) + hn::CountTrue(d, hn::Not(number)));
        clamped.high += static_cast<index_t>(hn::CountTrue(d, high));
    }
    for (; i < count; ++i) out[i] = to_integer<S>(in[i] + add, clamped);
    return clamped;
}

template <class S, class T>
void store_reals_typed(const T* in, index_t count, T add, S* out) {
    const TagFor<S, T> d;
    const hn::Rebind<T, decltype(d)> from;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const auto plus = hn::Set(from, add);
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto v = hn::Add(hn::LoadU(from, in + i), plus);
        if constexpr (std::is_same_v<S, T>) {
            hn::StoreU(v, d, out + i);
        } else if constexpr (sizeof(S) < sizeof(T)) {
            hn::StoreU(narrowed(d, v), d, out + i);
        } else {
            hn::StoreU(hn::PromoteTo(d, v), d, out + i);
        }
    }
    for (; i < count; ++i) out[i] = static_cast<S>(in[i] + add);
}

template <class T>
index_t load_any(PixelType type, const void* in, index_t count, const LoadOptions& options,
                 T* out) {
    return visit_pixel_type(type, [&](auto tag) -> index_t {
        using S = typename decltype(tag)::type;
        if constexpr (is_complex_v<S>) {
            throw InternalError("a complex element read as a real one");
        } else {
            return load_typed(static_cast<const S*>(in), count, options, out);
        }
    });
}

template <class T>
ClampCount store_any(const T* in, index_t count, T add, PixelType type, void* out) {
    return visit_pixel_type(type, [&](auto tag) -> ClampCount {
        using S = typename decltype(tag)::type;
        if constexpr (is_complex_v<S>) {
            throw InternalError("a complex element written as a real one");
        } else if constexpr (std::is_integral_v<S>) {
            return store_integers_typed(in, count, add, static_cast<S*>(out));
        } else {
            store_reals_typed(in, count, add, static_cast<S*>(out));
            return {};
        }
    });
}

void stream_lines(const std::uint8_t* in, index_t bytes, std::uint8_t* out) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    for (index_t i = 0; i < bytes; i += lanes) hn::Stream(hn::LoadU(d, in + i), d, out + i);
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
static constexpr auto& load_float = load_any<float>;
static constexpr auto& load_double = load_any<double>;
static constexpr auto& store_float = store_any<float>;
static constexpr auto& store_double = store_any<double>;
static constexpr auto& all_finite_float = all_finite_run<float>;
static constexpr auto& all_finite_double = all_finite_run<double>;

}  // namespace convolume::pixels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::pixels {

HWY_EXPORT(stream_lines);
#define CONVOLUME_CONTIGUOUS(Real)                                                       \
    HWY_EXPORT(load_##Real);                                                             \
    HWY_EXPORT(store_##Real);                                                            \
    HWY_EXPORT(all_finite_##Real);                                                       \
    template <>                                                                          \
    index_t load_contiguous(PixelType type, const void* in, index_t count,               \
                            const LoadOptions& options, Real* out) {                     \
        return HWY_DYNAMIC_DISPATCH(load_##Real)(type, in, count, options, out);         \
    }                                                                                    \
    template <>                                                                          \
    ClampCount store_contiguous(const Real* in, index_t count, Real add, PixelType type, \
                                void* out) {                                             \
        return HWY_DYNAMIC_DISPATCH(store_##Real)(in, count, add, type, out);            \
    }                                                                                    \
    bool all_finite(const Real* values, index_t count) {                                 \
        return HWY_DYNAMIC_DISPATCH(all_finite_##Real)(values, count);                   \
    }
CONVOLUME_CONTIGUOUS(float)
CONVOLUME_CONTIGUOUS(double)

void stream_copy(const void* in, index_t bytes, void* out) {
    const auto* source = static_cast<const std::uint8_t*>(in);
    auto* target = static_cast<std::uint8_t*>(out);
    const auto misplaced = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(target) % 64);
    const index_t head = std::min(bytes, misplaced == 0 ? 0 : 64 - misplaced);
    const index_t body = (bytes - head) / 64 * 64;
    const index_t tail = bytes - head - body;
    std::memcpy(target, source, static_cast<std::size_t>(head));
    HWY_DYNAMIC_DISPATCH(stream_lines)(source + head, body, target + head);
    std::memcpy(target + head + body, source + head + body, static_cast<std::size_t>(tail));
}

void stream_fence() {
    hwy::FlushStream();
}

}  // namespace convolume::pixels
#endif
