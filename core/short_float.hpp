// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating-point numbers of 16 bits, for samples that enter only sums of products.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// A number of 16 bits: a sign, then an exponent and a fraction whose lengths are set by
/// ShortFormat.
struct ShortFloat {
    std::uint16_t bits;
};

/// Format of ShortFloat. None of n samples is larger than √n times their root mean square. A few
/// samples need few exponents and get more significant bits. The errors of many samples cancel in
/// their sum.
class ShortFormat {
  public:
    ShortFormat() = default;
    /// Makes a format for `count` samples with about this root mean square, above 0. Values up to
    /// √count times it can be represented; larger ones become the largest. Steps between the
    /// smallest values are at most 2^-9 of it for up to 2^32 samples.
    ShortFormat(index_t count, float root_mean_square) {
        const int log2_root = log2_of_root(count);
        *this = with_largest(exponent_of(root_mean_square) + log2_root + 1, log2_root <= 8 ? 3 : 4);
    }
    /// Makes a format for samples whose mean magnitude is known, above 0. One of many samples may
    /// be as large as their sum, which can be represented with one or two significant bits less.
    /// For at most 2^12 samples, whose errors do not cancel so well, these bits are kept and the
    /// largest value is √count times the mean.
    static ShortFormat for_mean(index_t count, float mean) {
        const int log2_root = log2_of_root(count);
        return log2_root <= 6 ? ShortFormat(count, mean)
                              : with_largest(exponent_of(mean) + 2 * log2_root + 1, 5);
    }

    /// Rounds to the nearest number, ties to even.
    CONVOLUME_DEVICE ShortFloat shortened(float value) const {
        const std::uint32_t whole =
            bits_of(product(value * encode_scale_, 7.88860905e-31F));  // 2^-100
        std::uint32_t bits = whole & 0x7fffffffU;
        bits = (bits + (1U << (shift_ - 1)) - 1 + (bits >> shift_ & 1U)) >> shift_;
        bits = bits > 0x7fffU ? 0x7fffU : bits;
        return {static_cast<std::uint16_t>(bits | (whole >> 16 & 0x8000U))};
    }
    CONVOLUME_DEVICE float lengthened(ShortFloat value) const {
        const std::uint32_t magnitude = (value.bits & 0x7fffU) << shift_;
        const float held = product(float_of(magnitude), 1.26765060e30F) * decode_scale_;  // 2^100
        return (value.bits & 0x8000U) != 0 ? -held : held;
    }

  private:
    /// Makes a format whose largest sample is 2^largest. It has the exponent 2^exponent_bits - 1 of
    /// a float32, which is subnormal below 1.
    static ShortFormat with_largest(int largest, int exponent_bits) {
        const int scale = (largest < 128 ? largest : 128) + 26 - (1 << exponent_bits);
        ShortFormat format;
        format.shift_ = 23 - (15 - exponent_bits);
        format.decode_scale_ = std::ldexp(1.0F, scale);
        format.encode_scale_ = std::ldexp(1.0F, -scale);
        return format;
    }
    /// Returns the least n with √count <= 2^n.
    static int log2_of_root(index_t count) {
        int log2_root = 0;
        while (log2_root < 31 && (index_t{1} << (2 * log2_root)) < count) ++log2_root;
        return log2_root;
    }
    static int exponent_of(float value) {
        int exponent = 0;
        std::frexp(value, &exponent);
        return exponent < -90 ? -90 : exponent > 90 ? 90 : exponent;
    }

    /// Multiplies without flushing subnormal numbers to zero, whatever the compiler options.
    CONVOLUME_DEVICE static float product(float a, float b) {
#ifdef __CUDA_ARCH__
        float c = 0;
        asm("mul.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
        return c;
#else
        return a * b;
#endif
    }
    CONVOLUME_DEVICE static std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
        return __float_as_uint(value);
#else
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        return bits;
#endif
    }
    CONVOLUME_DEVICE static float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
        return __uint_as_float(bits);
#else
        float value = 0;
        std::memcpy(&value, &bits, sizeof value);
        return value;
#endif
    }

    float decode_scale_ = 1, encode_scale_ = 1;
    int shift_ = 11;
};

}  // namespace convolume
