// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples and pixels that take 16 bits in memory.

#include <string_view>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Storage of samples or pixels in memory. Those of 16 bits take half the memory and half the time
/// to be moved; sums are computed in float32. float16 and bfloat16 are arrays of
/// PixelType::uint16 that hold the bits, and int16 is PixelType::int16. A complex sample is two
/// consecutive elements, real and imaginary part. Results are rounded to the nearest value, ties to
/// even.
enum class SampleStorage {
    plain,     ///< in the type of the computation
    float16,   ///< IEEE 754: 11 significant bits; infinite from 65520 on
    bfloat16,  ///< upper half of a float32: 8 significant bits
    int16,     ///< integers that a scale multiplies; results beyond their range are clamped
};

/// Returns the type of the elements of an array that is stored in 16 bits.
inline PixelType element_type(SampleStorage storage) {
    return storage == SampleStorage::int16 ? PixelType::int16 : PixelType::uint16;
}

/// Converts `count` elements of 16 bits. Those of int16 are not scaled.
/// @code{.cpp}
/// const std::vector<float> values = {1, -2, 1e6F};
/// std::vector<std::uint16_t> halves(3);
/// encode_samples(values.data(), 3, SampleStorage::float16, halves.data());
/// assert(halves[0] == 0x3c00 && halves[1] == 0xc000);
/// assert(halves[2] == 0x7c00);  // infinity
/// std::vector<float> back(3);
/// decode_samples(halves.data(), 3, SampleStorage::float16, back.data());
/// assert(back[1] == -2);
/// @endcode
CONVOLUME_API void decode_samples(const void* from, index_t count, SampleStorage storage,
                                  float* to);
/// Rounds `count` values to elements of 16 bits. Returns how many were clamped to the range of
/// int16. Throws InvalidArgument for SampleStorage::plain, as decode_samples() does.
CONVOLUME_API ClampCount encode_samples(const float* from, index_t count, SampleStorage storage,
                                        void* to);

CONVOLUME_API const char* to_string(SampleStorage);
/// Parses "plain", "float16", "bfloat16" or "int16". Throws InvalidArgument, which lists the
/// choices, for other texts.
CONVOLUME_API SampleStorage parse_sample_storage(std::string_view);

}  // namespace convolume
