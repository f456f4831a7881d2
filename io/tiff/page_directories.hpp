// SPDX-License-Identifier: Apache-2.0
#pragma once
// The directories of the pages of an image, and the header that leads to them.

#include <functional>

#include "io/atomic_output.hpp"
#include "io/tiff/directory.hpp"
#include "io/tiff/writer.hpp"

namespace convolume::io {

/// Behind the header of either kind of TIFF.
constexpr index_t tiff_data_offset = 16;

/// Where the samples of a page are, and how they are stored.
struct TiffStrips {
    std::uint16_t compression = 1;  ///< none
    std::uint16_t predictor = 1;    ///< none
    index_t rows = 1;               ///< of a strip
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> bytes;
};

/// Page (t, c, z) of an image, in the order of the pages: ImageJ wants channels fastest; our
/// OME-XML says z, then c.
index_t page_number(const ImageMetadata& metadata, const TiffText& text, index_t t, index_t c,
                    index_t z);

TiffDirectory page_directory(const ImageMetadata& metadata, const TiffText& text, bool first,
                             const TiffStrips& strips);

/// Writes the directory of each page from `offset` (even) on, one behind the other, then the
/// header. `directory(page)` is called for pages in order.
void write_directories(AtomicOutput& output, bool big, index_t offset, index_t pages,
                       const std::function<TiffDirectory(index_t)>& directory);

}  // namespace convolume::io
