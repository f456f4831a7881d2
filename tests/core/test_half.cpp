// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits against their definition in double precision.

#include <cmath>

#include "core/half.hpp"
#include "tests/catch.hpp"

namespace convolume {

namespace {

// Of the 16 bits: the sign, five bits of exponent, ten of fraction.
double defined(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("numbers of 16 bits") {
    for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
        for (const std::uint32_t sign : {0U, 0x8000U}) {
            const Half half{static_cast<std::uint16_t>(bits | sign)};
            const float value = to_float(half);
            REQUIRE(static_cast<double>(value) == defined(half.bits));
            if (bits != 0) REQUIRE(to_half(value).bits == half.bits);
        }
        if (bits + 1 == 0x7c00) break;
        // Halfway to the next: to the even one. A little less or more: to the nearer one.
        const auto low = static_cast<std::uint16_t>(bits);
        const auto high = static_cast<std::uint16_t>(bits + 1);
        const auto middle = static_cast<float>((defined(low) + defined(high)) / 2);
        REQUIRE(to_half(middle).bits == ((low & 1) == 0 ? low : high));
        REQUIRE(to_half(std::nextafter(middle, 0.0F)).bits == low);
        REQUIRE(to_half(std::nextafter(middle, 1e9F)).bits == high);
    }
    CHECK(to_float(to_half(1e6F)) == largest_half);
    CHECK(to_float(to_half(-INFINITY)) == -largest_half);
    CHECK(to_half(0).bits == 0);
}

}  // namespace convolume
