// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector code for contiguous samples: conversion, search for NaN, and copies past the caches. The
// scalar functions define each conversion, and the vector code gives equal results.

#include <cmath>
#include <limits>

#include "core/pixels/rows.hpp"

namespace convolume::pixels {

/// Computes out[i] = in[i] - subtract for `count` elements of the real type `type`; T is float or
/// double. Returns how many elements were read as 0 because they are not finite.
template <class T>
index_t load_contiguous(PixelType type, const void* in, index_t count, const LoadOptions& options,
                        T* out);

/// Stores in[i] + add as elements of the real type `type`; T is float or double.
template <class T>
ClampCount store_contiguous(const T* in, index_t count, T add, PixelType type, void* out);

bool all_finite(const float* values, index_t count);
bool all_finite(const double* values, index_t count);

/// Copies to `out` without the caches, for memory that will not be read soon. Call stream_fence()
/// before another thread reads `out`.
void stream_copy(const void* in, index_t bytes, void* out);
void stream_fence();

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

/// Returns the largest T that the integer type S can hold: float lacks 2^31 - 1 and 2^32 - 1.
template <class S, class T>
constexpr T largest_value() {
    constexpr int spare_bits = std::numeric_limits<S>::digits - std::numeric_limits<T>::digits;
    constexpr S limit = std::numeric_limits<S>::max();
    if constexpr (spare_bits > 0) return static_cast<T>((limit >> spare_bits) << spare_bits);
    return static_cast<T>(limit);
}

/// Returns `value` rounded half to even and clamped to S.
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
