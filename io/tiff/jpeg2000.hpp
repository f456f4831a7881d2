// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoder of JPEG 2000 in TIFF strips and TIFF tiles, which libtiff lacks.

#include <cstdint>
#include <string>

#include "convolume/image_view.hpp"

namespace convolume::io {

/// Tells whether a TIFF compression code means JPEG 2000.
bool is_jpeg2000(std::uint16_t compression);

/// Tells whether this build decodes JPEG 2000.
bool decodes_jpeg2000();

/// Decodes a TIFF strip or TIFF tile of `rows` by `columns` pixels. Each pixel has `samples`
/// adjacent integers of 8 or 16 bits. Returns the reason for a failure, "" after success.
std::string decode_jpeg2000(const std::string& coded, index_t rows, index_t columns,
                            index_t samples, PixelType type, void* pixels);

}  // namespace convolume::io
