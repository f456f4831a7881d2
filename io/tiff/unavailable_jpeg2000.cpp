// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "io/tiff/jpeg2000.hpp"

namespace convolume::io {

bool decodes_jpeg2000() {
    return false;
}

std::string decode_jpeg2000(const std::string&, index_t, index_t, index_t, PixelType, void*) {
    throw InternalError("JPEG 2000 was to be decoded by a build without it");
}

}  // namespace convolume::io
