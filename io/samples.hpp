// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations on samples in memory: copies between strided views, and changes of byte order. Also
// converts numbers that no pixel type holds (integers of 64 bits, floats of 16 bits).

#include <cstddef>
#include <optional>
#include <string>

#include "convolume/filter_options.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// Copies the elements of one view to another view of equal shape and type.
void copy_view(const ConstImageView& from, const ImageView& to);

/// Reverses the bytes of each of `count` numbers of `bytes_each` bytes.
void swap_bytes(void* data, index_t count, std::size_t bytes_each);
/// Reverses the bytes of `count` pixels, separately in real and imaginary parts.
void swap_pixels(void* data, index_t count, PixelType type);

/// Type of stored integers that are read as float64. All integers up to 2^53 are exact in float64.
enum class WideInteger { none, int64, uint64 };

/// An integer that float64 cannot represent exactly.
struct InexactInteger {
    index_t element;  ///< index among the converted integers
    std::string text;
};

/// End of a message about an InexactInteger: the limit and the cure.
inline constexpr const char* inexact_integer_cure =
    "; integers of 64 bits are read as float64, which holds them exactly up to 2^53 only; store "
    "smaller values, or float64";

/// Converts integers of `type`, in this machine's byte order, to float64 in place. Stops at the
/// first integer that float64 does not hold exactly, which is beyond ±2^53, and returns it.
std::optional<InexactInteger> widen_integers(void* samples, index_t elements, WideInteger type);

/// Converts floats of 16 bits, in this machine's byte order, to float32. They may be at the end of
/// the memory of the results.
void widen_short_floats(const void* from, index_t elements, SampleStorage storage, float* to);

}  // namespace convolume::io
