// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF: what each holds and where, checked against the size of the file.

#include <cstdint>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/raw_file.hpp"
#include "io/tiff/handle.hpp"

namespace convolume::io {

struct TiffPage {
    std::uint64_t directory = 0;  ///< offset of its IFD
    index_t width = 0;
    index_t height = 0;
    index_t samples = 1;
    PixelType type = PixelType::uint8;
    bool planar = false;   ///< samples in planes of their own, not side by side
    bool reduced = false;  ///< a thumbnail or a level of a pyramid
    bool tiled = false;
    index_t rows = 0;  ///< of a strip or tile
    index_t columns = 0;
    index_t raw_offset = -1;  ///< where its pixels lie as they are; -1: coded, or not in one run
    index_t least_file_bytes = 0;  ///< bytes of the file its pixels take at the least
    index_t table_bytes = 0;       ///< that the tables of its strips or tiles take at least

    index_t plane_bytes() const { return width * height * static_cast<index_t>(size_of(type)); }
    index_t bytes() const { return plane_bytes() * samples; }
    bool same_pixels(const TiffPage& other) const {
        return width == other.width && height == other.height && samples == other.samples &&
               type == other.type && planar == other.planar;
    }
};

/// All pages in the order of the file. Pages that are not reduced are checked: supported type, and
/// no more pixels than the file's bytes can stand for. Throws BadData that names the page.
std::vector<TiffPage> scan_pages(TiffHandle& tiff, const RawFile& file);

/// How many bytes one byte of the file can stand for in that compression, at the most: what codes
/// and runs of each can express.
index_t expansion_limit(std::uint16_t compression);

}  // namespace convolume::io
