// SPDX-License-Identifier: Apache-2.0
#pragma once
// JPEG 2000 in strips and tiles, which libtiff does not decode.

#include <cstdint>
#include <string>

#include "convolume/image_view.hpp"

namespace convolume::io {

/// Tells whether a TIFF compression is one of those that programs use for JPEG 2000.
bool is_jpeg2000(std::uint16_t compression);

/// Tells whether this build decodes JPEG 2000.
bool decodes_jpeg2000();

/// Decodes a strip or tile of `rows` by `columns` pixels of `samples` integers of 8 or 16 bits
/// each, side by side, to `pixels`. Returns the reason why it cannot, "" if it did.
std::string decode_jpeg2000(const std::string& coded, index_t rows, index_t columns,
                            index_t samples, PixelType type, void* pixels);

}  // namespace convolume::io
