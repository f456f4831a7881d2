// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of NumPy's array files: a magic, and a Python dictionary of type, order and shape.

#include <optional>
#include <string>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Integers of 64 bits, which no PixelType holds.
enum class WideInteger { is_signed, is_unsigned };

struct NpyHeader {
    PixelType type = PixelType::float32;
    std::optional<WideInteger> wide;  ///< elements are such integers; `type` is then float64
    bool swapped = false;             ///< bytes in the other order than this machine's
    bool fortran_order = false;
    std::vector<index_t> dims;  ///< slowest first in C order; none for a single value
    index_t data_offset = 0;
};

/// Throws BadData for what is damaged, is not supported, or names more bytes than the file has.
/// Wide integers are not supported unless `allow_wide`.
NpyHeader read_npy_header(const RawFile& file, bool allow_wide = false);

/// Elements from one index of each of `dims` to the next.
std::vector<index_t> array_strides(const std::vector<index_t>& dims, bool fortran_order);

/// "<f4": elements of `kind` ('u', 'i', 'f' or 'c') in this machine's byte order.
std::string npy_type_code(char kind, std::size_t bytes);
std::string npy_type_code(PixelType type);

/// All that stands before the elements of an array in C order; a multiple of 64 bytes.
std::string npy_header_text(const std::string& type_code, const std::vector<index_t>& dims);

}  // namespace convolume::io
