// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy's array files: a magic, a Python dictionary of type, order and shape, then the elements.

#include <string>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/file_array.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"

namespace convolume::io {

struct NpyHeader {
    PixelType type = PixelType::float32;
    WideInteger wide = WideInteger::none;  ///< elements are such integers; `type` is then float64
    bool is_half = false;                  ///< of half precision; `type` is then float32
    bool swapped = false;                  ///< bytes in the other order than this machine's
    bool fortran_order = false;
    std::vector<index_t> dims;  ///< slowest first in C order; none for a single value
    index_t data_offset = 0;

    /// Bytes of an element in the file.
    index_t element_bytes() const { return is_half ? 2 : static_cast<index_t>(size_of(type)); }
};

/// Throws BadData for what is damaged, is not supported, or names more bytes than the file has.
NpyHeader read_npy_header(const RawFile& file);

/// Reads the elements of `array` to `target`, which has their type and shape. Throws BadData for
/// integers that float64 does not hold.
void read_npy_elements(const RawFile& file, const NpyHeader& header, const FileArray& array,
                       const ImageView& target);

/// Elements from one index of each of `dims` to the next.
std::vector<index_t> array_strides(const std::vector<index_t>& dims, bool fortran_order);

/// "<f4": elements of `kind` ('u', 'i', 'f' or 'c') in this machine's byte order.
std::string npy_type_code(char kind, std::size_t bytes);
std::string npy_type_code(PixelType type);

/// All that stands before the elements of an array in C order; a multiple of 64 bytes.
std::string npy_header_text(const std::string& type_code, const std::vector<index_t>& dims);

}  // namespace convolume::io
