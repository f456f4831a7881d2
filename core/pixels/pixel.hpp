// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sample in and out of a pixel type: the scalar meaning that the vector code repeats.

#include <cmath>
#include <limits>

#include "core/pixels/rows.hpp"

namespace convolume::pixels {

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

/// The largest T that an integer S can hold: float has no 2^31 - 1 nor 2^32 - 1.
template <class S, class T>
constexpr T largest_value() {
    constexpr int spare_bits = std::numeric_limits<S>::digits - std::numeric_limits<T>::digits;
    constexpr S limit = std::numeric_limits<S>::max();
    if constexpr (spare_bits > 0) return static_cast<T>((limit >> spare_bits) << spare_bits);
    return static_cast<T>(limit);
}

/// `value` rounded half to even and clamped to S.
template <class S, class T>
S to_integer(T value, ClampCount& clamped) {
    const T rounded = std::nearbyint(value);
    if (std::isnan(rounded)) {
        ++clamped.low;
        return 0;
    }
    if (rounded < static_cast<T>(std::numeric_limits<S>::min())) {
        ++clamped.low;
        return std::numeric_limits<S>::min();
    }
    if (rounded > largest_value<S, T>()) {
        ++clamped.high;
        return std::numeric_limits<S>::max();
    }
    return static_cast<S>(rounded);
}

template <class T>
bool is_finite(const T& value) {
    if constexpr (is_complex_v<T>) {
        return std::isfinite(value.real()) && std::isfinite(value.imag());
    } else {
        return std::isfinite(value);
    }
}

}  // namespace convolume::pixels
