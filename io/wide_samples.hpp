// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers in files that no pixel type is: integers of 64 bits and half precision.

#include <optional>
#include <string>

#include "convolume/shape.hpp"

namespace convolume::io {

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
