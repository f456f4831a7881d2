// SPDX-License-Identifier: Apache-2.0
#include "io/wide_samples.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace convolume::io {
namespace {

template <class Integer>
std::optional<InexactInteger> widen(void* samples, index_t elements) {
    constexpr double beyond = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
    auto* bytes = static_cast<char*>(samples);
    for (index_t i = 0; i < elements; ++i, bytes += sizeof(Integer)) {
        Integer integer = 0;
        std::memcpy(&integer, bytes, sizeof integer);
        const auto number = static_cast<double>(integer);
        if (number >= beyond || static_cast<Integer>(number) != integer)
            return InexactInteger{i, std::to_string(integer)};
        std::memcpy(bytes, &number, sizeof number);
    }
    return std::nullopt;
}

float float_of_half(std::uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int fraction = half & 1023;
    const float sign = half >> 15 != 0 ? -1.0F : 1.0F;
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

}  // namespace

std::optional<InexactInteger> widen_integers(void* samples, index_t elements, WideInteger type) {
    switch (type) {
        case WideInteger::int64:
            return widen<std::int64_t>(samples, elements);
        case WideInteger::uint64:
            return widen<std::uint64_t>(samples, elements);
        case WideInteger::none:
            break;
    }
    return std::nullopt;
}

void widen_halves(const void* halves, index_t elements, float* to) {
    for (index_t i = 0; i < elements; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, static_cast<const char*>(halves) + 2 * i, sizeof half);
        to[i] = float_of_half(half);
    }
}

}  // namespace convolume::io
