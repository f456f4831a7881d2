// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of 16 bits, 11 of them significant (binary16 of IEEE 754), on the host and on a device.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "convolume/cuda/detail/complex.hpp"

namespace convolume {

struct Half {
    std::uint16_t bits;
};

inline constexpr float largest_half = 65504;

/// Rounded to the nearest, ties to even; what is larger than the largest becomes that.
CONVOLUME_DEVICE Half to_half(float value) {
    const float magnitude = value < 0 ? -value : value;
    const float held = magnitude > largest_half ? largest_half : magnitude;
    std::uint16_t bits = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(held));
#else
    constexpr float least_normal = 6.103515625e-5F;  // 2^-14
    if (held < least_normal) {
        bits = static_cast<std::uint16_t>(std::nearbyint(held * 16777216.0F));  // of 2^-24
    } else {
        std::uint32_t whole = 0;
        std::memcpy(&whole, &held, sizeof whole);
        whole += 0xfffU + ((whole >> 13) & 1U);  // may carry into the exponent
        bits = static_cast<std::uint16_t>((whole - (112U << 23)) >> 13);
    }
#endif
    return {static_cast<std::uint16_t>(value < 0 ? bits | 0x8000U : bits)};
}

CONVOLUME_DEVICE float to_float(Half half) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half.bits));
    return value;
#else
    // The exponent is set right by a product, which knows of subnormal numbers, too.
    const std::uint32_t magnitude = (half.bits & 0x7fffU) << 13;
    float value = 0;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= 5.192296858534828e33F;  // 2^112
    return (half.bits & 0x8000U) != 0 ? -value : value;
#endif
}

}  // namespace convolume
