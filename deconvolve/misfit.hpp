// SPDX-License-Identifier: Apache-2.0
#pragma once
// How badly a model explains a count of photons.

#include <cstdint>
#include <cstring>

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::deconvolve {

/// m - y + y log(y / m) in float32, to some 1e-6 of it, y >= 0 and m > 0; `ratio` is y / m. Near
/// y = m, where the terms cancel, it is (y - m) s + 2 y (atanh s - s), s = (y - m) / (y + m): C.
/// Loader, Fast and Accurate Computation of Binomial Probabilities (2000). It has no branches, so
/// that loops of it become vectors.
CONVOLUME_DEVICE float misfit(float y, float m, float ratio) {
    constexpr std::uint32_t root_half = 0x3f3504f3;  // the bits of √½
    constexpr float log_2 = 0.693147181F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &ratio, sizeof bits);
    // ratio = fraction 2^exponent, fraction from √½ to √2. A ratio of 0 gets a finite logarithm.
    const std::int32_t exponent = static_cast<std::int32_t>(bits - root_half) >> 23;
    const std::uint32_t fraction_bits = bits - (static_cast<std::uint32_t>(exponent) << 23);
    float fraction = 0;
    std::memcpy(&fraction, &fraction_bits, sizeof fraction);
    const bool near = exponent == 0;
    const float s = (near ? y - m : fraction - 1) / (near ? y + m : fraction + 1);
    const float s2 = s * s;
    const float rest = s * s2 * (1.0F / 3 + s2 * (0.2F + s2 * (1.0F / 7 + s2 * (1.0F / 9))));
    const float first =
        near ? (y - m) * s : m - y + y * (static_cast<float>(exponent) * log_2 + 2 * s);
    return first + y * (2 * rest);
}

}  // namespace convolume::deconvolve
