// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of 16 bits by their definition, in double precision: the oracle of all conversions.

#include <cmath>
#include <cstdint>
#include <limits>

#include "convolume/filter_options.hpp"

namespace convolume::testing {

/// Returns the value that a word stores.
inline double value_of(std::uint16_t word, SampleStorage storage) {
    if (storage == SampleStorage::int16) return static_cast<std::int16_t>(word);
    const int fraction_bits = storage == SampleStorage::float16 ? 10 : 7;
    const int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = word & ((1 << fraction_bits) - 1);
    const int exponent = word >> fraction_bits & ((1 << exponent_bits) - 1);
    const double sign = word & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction ? std::numeric_limits<double>::quiet_NaN()
                        : sign * std::numeric_limits<double>::infinity();
    const double size = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    return sign * std::ldexp(size, (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
}

/// Returns the word whose value is nearest; of two, the even one. Words of positive values are
/// ordered by value, so that a bisection finds it.
inline std::uint16_t nearest_word(double value, SampleStorage storage) {
    if (storage == SampleStorage::int16) {
        if (std::isnan(value)) return 0;
        const double rounded = std::nearbyint(value);
        const double limited = rounded < -32768 ? -32768 : rounded > 32767 ? 32767 : rounded;
        return static_cast<std::uint16_t>(static_cast<std::int16_t>(limited));
    }
    const std::uint16_t infinity = storage == SampleStorage::float16 ? 0x7c00 : 0x7f80;
    if (std::isnan(value)) return static_cast<std::uint16_t>(infinity + 1);
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::abs(value);
    std::uint16_t low = 0, high = infinity;  // value_of(low) <= size
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (value_of(middle, storage) <= size ? low : high) = middle;
    }
    // Infinity is rounded to as if it were the next value of the format.
    const double below = value_of(low, storage);
    const double above = high == infinity
                             ? 2 * below - value_of(static_cast<std::uint16_t>(low - 1), storage)
                             : value_of(high, storage);
    const double middle = (below + above) / 2;
    const bool up = size > middle || (size == middle && low % 2 != 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
}

/// Returns whether a word is the rounded value of a number within `error` of `value`.
inline bool is_rounded(std::uint16_t word, double value, double error, SampleStorage storage) {
    const double found = value_of(word, storage);
    return found >= value_of(nearest_word(value - error, storage), storage) &&
           found <= value_of(nearest_word(value + error, storage), storage);
}

}  // namespace convolume::testing
