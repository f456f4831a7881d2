// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples in memory: copies between strided views, byte order, and numbers in files that no pixel
// type is (integers of 64 bits, half precision).

#include <cstddef>
#include <optional>
#include <string>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// Copies elements between views of equal shape and type.
void copy_view(const ConstImageView& from, const ImageView& to);

/// Reverses the bytes of each of `count` numbers of `bytes_each` bytes.
void swap_bytes(void* data, index_t count, std::size_t bytes_each);
/// The same for `count` pixels: real and imaginary parts are swapped separately.
void swap_pixels(void* data, index_t count, PixelType type);

/// Integers that are read as float64, which holds all up to 2^53 exactly.
enum class WideInteger { none, int64, uint64 };

/// An integer that float64 does not hold.
struct InexactInteger {
    index_t element;  ///< its number among those that were converted
    std::string text;
};

/// Makes float64 of integers in this machine's byte order, in place. Returns the first one that
/// float64 does not hold exactly, if any; it is beyond ±2^53.
std::optional<InexactInteger> widen_integers(void* samples, index_t elements, WideInteger type);

/// Makes float32 of numbers of half precision in this machine's byte order.
void widen_halves(const void* halves, index_t elements, float* to);

}  // namespace convolume::io
