// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of one sample from and to a pixel type, on the device or the host, with the results of
// core/pixels/rows.hpp.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/cuda/detail/stored_samples.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Calls f(T{}) with a value of the C++ type of `type`; complex types are Complex<Real>.
template <class F>
CONVOLUME_DEVICE void with_pixel(PixelType type, const F& f) {
    switch (type) {
        case PixelType::uint8:
            return f(std::uint8_t{});
        case PixelType::int8:
            return f(std::int8_t{});
        case PixelType::uint16:
            return f(std::uint16_t{});
        case PixelType::int16:
            return f(std::int16_t{});
        case PixelType::uint32:
            return f(std::uint32_t{});
        case PixelType::int32:
            return f(std::int32_t{});
        case PixelType::float32:
            return f(float{});
        case PixelType::float64:
            return f(double{});
        case PixelType::complex64:
            return f(Complex<float>{});
        case PixelType::complex128:
            return f(Complex<double>{});
    }
}

template <class T>
inline constexpr bool is_complex_pixel = false;
template <class Real>
inline constexpr bool is_complex_pixel<Complex<Real>> = true;

/// A pixel that is a float of 16 bits.
template <SampleStorage storage_>
struct ShortPixel {
    static constexpr SampleStorage storage = storage_;
    SampleWord word;
};
template <class T>
inline constexpr bool is_short_pixel = false;
template <SampleStorage storage>
inline constexpr bool is_short_pixel<ShortPixel<storage>> = true;

/// Calls f(T{}) for floats of 16 bits.
template <class F>
CONVOLUME_DEVICE void with_short_pixel(SampleStorage storage, const F& f) {
    if (storage == SampleStorage::float16)
        f(ShortPixel<SampleStorage::float16>{});
    else
        f(ShortPixel<SampleStorage::bfloat16>{});
}
/// Call f(T{}) for real types only, in any storage, or for complex types only.
template <class F>
CONVOLUME_DEVICE void with_real_pixel(PixelType type, SampleStorage storage, const F& f) {
    if (storage != SampleStorage::plain) return with_short_pixel(storage, f);
    with_pixel(type, [&](auto tag) {
        if constexpr (!is_complex_pixel<decltype(tag)>) f(tag);
    });
}
template <class F>
CONVOLUME_DEVICE void with_complex_pixel(PixelType type, const F& f) {
    with_pixel(type, [&](auto tag) {
        if constexpr (is_complex_pixel<decltype(tag)>) f(tag);
    });
}

// is_complex() and size_of() for device code.
CONVOLUME_DEVICE bool has_complex_pixels(PixelType type) {
    return type == PixelType::complex64 || type == PixelType::complex128;
}
CONVOLUME_DEVICE int pixel_bytes(PixelType type) {
    int bytes = 0;
    with_pixel(type, [&](auto tag) { bytes = static_cast<int>(sizeof(tag)); });
    return bytes;
}

/// Changes to samples when they are loaded.
template <class Real>
struct LoadRule {
    Real subtract = 0;  ///< number to subtract from real parts
    /// Whether samples that are not finite count as 0 before the subtraction.
    bool nonfinite_to_zero = false;
};

/// Numbers of samples that did not fit the target's integer type.
struct ClampTally {
    /// Number of samples below the range, with NaN, which is stored as 0.
    unsigned long long low = 0;
    /// Number of samples above the range.
    unsigned long long high = 0;
};

template <class Real, class S>
CONVOLUME_DEVICE Complex<Real> load_sample(S sample, const LoadRule<Real>& rule) {
    if constexpr (is_complex_pixel<S>) {
        if (rule.nonfinite_to_zero && !(std::isfinite(sample.re) && std::isfinite(sample.im))) {
            return {-rule.subtract, 0};
        }
        return {static_cast<Real>(sample.re) - rule.subtract, static_cast<Real>(sample.im)};
    } else {
        if constexpr (!std::is_integral_v<S>) {
            if (rule.nonfinite_to_zero && !std::isfinite(sample)) return {-rule.subtract, 0};
        }
        return {static_cast<Real>(sample) - rule.subtract, 0};
    }
}

template <class Real, SampleStorage storage>
CONVOLUME_DEVICE Complex<Real> load_sample(ShortPixel<storage> sample, const LoadRule<Real>& rule) {
    return load_sample<Real>(WordDecoder<storage>{}(sample.word), rule);
}

// Limits of S are variables because device code cannot call the functions of numeric_limits.
template <class S>
inline constexpr S lowest_value = std::numeric_limits<S>::min();
template <class S>
inline constexpr S highest_value = std::numeric_limits<S>::max();
/// The largest Real that an integer S can hold: float does not have 2^31 - 1 and 2^32 - 1.
template <class S, class Real>
inline constexpr Real largest_value = [] {
    const int excess_bits = std::numeric_limits<S>::digits - std::numeric_limits<Real>::digits;
    const int dropped_bits = excess_bits > 0 ? excess_bits : 0;
    return static_cast<Real>((highest_value<S> >> dropped_bits) << dropped_bits);
}();

/// Returns `value` rounded half to even and clamped to S.
template <class S, class Real>
CONVOLUME_DEVICE S to_integer(Real value, ClampTally& tally) {
    constexpr S lowest = lowest_value<S>, highest = highest_value<S>;
    constexpr Real largest = largest_value<S, Real>;
    const Real rounded = std::rint(value);
    if (rounded > largest) {
        ++tally.high;
        return highest;
    }
    if (rounded >= static_cast<Real>(lowest)) return static_cast<S>(rounded);
    ++tally.low;
    return std::isnan(rounded) ? S{0} : lowest;
}

/// Returns `value` as a pixel. Real pixels get its real part.
template <class S, class Real>
CONVOLUME_DEVICE S store_sample(Complex<Real> value, ClampTally& tally) {
    if constexpr (is_complex_pixel<S>) {
        using RealPart = decltype(S::re);
        return {static_cast<RealPart>(value.re), static_cast<RealPart>(value.im)};
    } else if constexpr (std::is_integral_v<S>) {
        return to_integer<S>(value.re, tally);
    } else if constexpr (is_short_pixel<S>) {
        return {WordEncoder<S::storage>(1.0F)(static_cast<float>(value.re))};
    } else {
        return static_cast<S>(value.re);
    }
}

/// Returns element `index` of an array of pixels of `type`, or of floats of 16 bits.
template <class Real>
CONVOLUME_DEVICE Complex<Real> load_pixel(const void* data, PixelType type, index_t index,
                                          const LoadRule<Real>& rule,
                                          SampleStorage storage = SampleStorage::plain) {
    Complex<Real> value{};
    const auto load = [&](auto tag) {
        value = load_sample<Real>(static_cast<const decltype(tag)*>(data)[index], rule);
    };
    if (storage == SampleStorage::plain)
        with_pixel(type, load);
    else
        with_short_pixel(storage, load);
    return value;
}

/// Stores `value`, to which nothing is added, as element `index` of such an array.
template <class Real>
CONVOLUME_DEVICE void store_pixel(void* data, PixelType type, index_t index, Complex<Real> value,
                                  ClampTally& tally, SampleStorage storage = SampleStorage::plain) {
    const auto store = [&](auto tag) {
        using S = decltype(tag);
        static_cast<S*>(data)[index] = store_sample<S>(value, tally);
    };
    if (storage == SampleStorage::plain)
        with_pixel(type, store);
    else
        with_short_pixel(storage, store);
}

}  // namespace convolume::gpu
