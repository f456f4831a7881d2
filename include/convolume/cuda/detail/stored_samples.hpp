// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of 16 bits, converted from and to float32 by CUDA kernels and host code. A word holds the
// bits of a sample. Word 0 is the value 0 in every storage.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/sample_storage.hpp"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define CONVOLUME_CONVERTS_ON_DEVICE 1
#else
#define CONVOLUME_CONVERTS_ON_DEVICE 0
#endif

namespace convolume::gpu {

using SampleWord = std::uint16_t;

CONVOLUME_DEVICE std::uint32_t float_bits(float value) {
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}
CONVOLUME_DEVICE float float_of_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

// The portable conversions have no branches, so that compilers vectorize loops over them.

CONVOLUME_DEVICE SampleWord to_float16(float value) {
#if CONVOLUME_CONVERTS_ON_DEVICE
    SampleWord word = 0;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
#else
    const std::uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffffU;
    // The bits that are cut off round the rest; the exponent's bias changes from 127 to 15.
    const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
    // Below 2^-14, adding 1/2 rounds to a multiple of 2^-24.
    const std::uint32_t small = float_bits(float_of_bits(magnitude) + 0.5F) - 0x3f000000U;
    std::uint32_t word = magnitude < 0x38800000U ? small : normal;
    word = magnitude >= 0x47800000U ? 0x7c00U : word;
    word = magnitude > 0x7f800000U ? 0x7e00U : word;
    return static_cast<SampleWord>(word | (bits >> 16 & 0x8000U));
#endif
}

CONVOLUME_DEVICE float from_float16(SampleWord word) {
#if CONVOLUME_CONVERTS_ON_DEVICE
    float value = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(word));
    return value;
#else
    const std::uint32_t magnitude = (word & 0x7fffU) << 13, exponent = magnitude & 0x0f800000U;
    const std::uint32_t normal = magnitude + 0x38000000U;
    // A subnormal number is its fraction times 2^-24.
    const std::uint32_t small = float_bits(float_of_bits(normal + 0x00800000U) - 0x1p-14F);
    std::uint32_t bits = exponent == 0 ? small : normal;
    bits = exponent == 0x0f800000U ? magnitude + 0x70000000U : bits;
    return float_of_bits(bits | (word & 0x8000U) << 16);
#endif
}

CONVOLUME_DEVICE SampleWord to_bfloat16(float value) {
#if CONVOLUME_CONVERTS_ON_DEVICE
    SampleWord word = 0;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
#else
    const std::uint32_t bits = float_bits(value);
    const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<SampleWord>(is_nan ? bits >> 16 | 0x40U : rounded);
#endif
}

CONVOLUME_DEVICE float from_bfloat16(SampleWord word) {
    return float_of_bits(static_cast<std::uint32_t>(word) << 16);
}

/// Rounds and clamps to the range of int16. NaN becomes 0.
CONVOLUME_DEVICE SampleWord to_int16(float value) {
#if CONVOLUME_CONVERTS_ON_DEVICE
    SampleWord word = 0;
    asm("cvt.rni.s16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
#else
    float limited = value > -32768.0F ? value : -32768.0F;
    limited = limited < 32767.0F ? limited : 32767.0F;
    limited = value == value ? limited : 0.0F;
    // Adding 1.5 · 2^23 rounds to an integer, which the lowest bits hold.
    return static_cast<SampleWord>(float_bits(limited + 12582912.0F));
#endif
}
CONVOLUME_DEVICE float from_int16(SampleWord word) {
    return static_cast<float>(static_cast<std::int16_t>(word));
}
/// Rounds value · factor to int16 without a conversion instruction, of which GPUs have few units.
/// Sets `is_outside`, and returns any word, if the result is outside the range or NaN.
CONVOLUME_DEVICE SampleWord to_int16_in_range(float value, float factor, bool& is_outside) {
    // Adding 1.5 · 2^23 rounds to an integer, which the lowest bits hold.
    const std::uint32_t bits = float_bits(value * factor + 12582912.0F);
    is_outside = is_outside || bits - (0x4b400000U - 0x8000U) > 0xffffU;
    return static_cast<SampleWord>(bits);
}
/// Return whether to_int16() clamps a value at the low end, and NaN with it, or at the high end.
CONVOLUME_DEVICE bool is_clamped_low(float value) {
    return !(value >= -32768.5F);
}
CONVOLUME_DEVICE bool is_clamped_high(float value) {
    return value >= 32767.5F;
}

/// Converts words of one storage.
template <SampleStorage storage>
struct WordDecoder {
    CONVOLUME_DEVICE float operator()(SampleWord word) const {
        if constexpr (storage == SampleStorage::float16) {
            return from_float16(word);
        } else if constexpr (storage == SampleStorage::bfloat16) {
            return from_bfloat16(word);
        } else {
            return from_int16(word);
        }
    }
};

/// Converts values to words of one storage. Those of int16 are multiplied by a factor first, and
/// clamped values are counted.
template <SampleStorage storage>
class WordEncoder {
  public:
    CONVOLUME_DEVICE explicit WordEncoder(float factor) : factor_(factor) {}

    CONVOLUME_DEVICE SampleWord operator()(float value) {
        return encode(value, [] { return true; });
    }
    CONVOLUME_DEVICE std::uint32_t operator()(Complex<float> value) {
        const auto counted = [] { return true; };
        return pair(value.re, value.im, counted, counted);
    }
    /// Returns two words, the first one in the lower bits. A clamped value is counted only if
    /// first_counts() or second_counts() returns true.
    template <class FirstCounts, class SecondCounts>
    CONVOLUME_DEVICE std::uint32_t pair(float first, float second, const FirstCounts& first_counts,
                                        const SecondCounts& second_counts) {
#if CONVOLUME_CONVERTS_ON_DEVICE
        std::uint32_t words = 0;
        if constexpr (storage == SampleStorage::float16) {
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words) : "f"(second), "f"(first));
            return words;
        } else if constexpr (storage == SampleStorage::bfloat16) {
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words) : "f"(second), "f"(first));
            return words;
        }
#endif
        const std::uint32_t low = encode(first, first_counts);
        const std::uint32_t high = encode(second, second_counts);
        return low | high << 16;
    }

    /// Adds the numbers of clamped values to the counters low and high.
    template <class Context>
    CONVOLUME_DEVICE void add_clamped(const Context& context, unsigned long long* counters) const {
        if constexpr (storage == SampleStorage::int16) {
            if (low_ > 0) context.add(counters, static_cast<unsigned long long>(low_));
            if (high_ > 0) context.add(counters + 1, static_cast<unsigned long long>(high_));
        }
    }
    CONVOLUME_DEVICE int low() const {
        return low_;
    }
    CONVOLUME_DEVICE int high() const {
        return high_;
    }

  private:
    template <class Counts>
    CONVOLUME_DEVICE SampleWord encode(float value, const Counts& counts) {
        if constexpr (storage == SampleStorage::float16) {
            return to_float16(value);
        } else if constexpr (storage == SampleStorage::bfloat16) {
            return to_bfloat16(value);
        } else {
            value *= factor_;
            low_ += is_clamped_low(value) && counts() ? 1 : 0;
            high_ += is_clamped_high(value) && counts() ? 1 : 0;
            return to_int16(value);
        }
    }

    float factor_;
    int low_ = 0, high_ = 0;
};

/// A storage of 16 bits as a type.
template <SampleStorage storage_>
struct StorageConstant {
    static constexpr SampleStorage storage = storage_;
    using Decoder = WordDecoder<storage_>;
    using Encoder = WordEncoder<storage_>;
};

/// Calls f(StorageConstant) of a storage of 16 bits.
template <class F>
CONVOLUME_DEVICE void visit_storage(SampleStorage storage, const F& f) {
    if (storage == SampleStorage::float16)
        f(StorageConstant<SampleStorage::float16>{});
    else if (storage == SampleStorage::bfloat16)
        f(StorageConstant<SampleStorage::bfloat16>{});
    else
        f(StorageConstant<SampleStorage::int16>{});
}

/// Storage of signals and results, as CUDA kernels get it.
struct StorageJob {
    SampleStorage source = SampleStorage::plain;
    SampleStorage target = SampleStorage::plain;
    float factor = 1;                       ///< factor of results that are stored as int16
    unsigned long long* clamped = nullptr;  ///< counters of values clamped low and high

    bool is_plain() const {
        return source == SampleStorage::plain && target == SampleStorage::plain;
    }
};

}  // namespace convolume::gpu
