// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the two TIFF writers share: text, directories of the pages, and the header.

#include <functional>

#include "io/atomic_output.hpp"
#include "io/formats.hpp"
#include "io/tiff/directory.hpp"
#include "io/tiff/imagej.hpp"

namespace convolume::io {

/// What stands in the tags of a file that is to be written.
struct TiffText {
    bool ome = false;         ///< OME-XML, else ImageJ
    bool big = false;         ///< BigTIFF
    std::string description;  ///< of the first page
    std::string software;
    std::array<double, 2> pixels_per_unit{1, 1};  ///< y, x
    std::uint16_t resolution_unit = 1;            ///< 1 none, 3 cm
};

/// Sets what ImageJ shows each channel with, once all samples are known. Sizes of directories stay.
void set_display_ranges(ImageMetadata& metadata, TiffText& text, const ChannelRanges& ranges);

/// SampleFormat of a pixel type.
std::uint16_t sample_format(PixelType type);

/// Pixels as they are, in one run behind the header, directories at the end.
std::unique_ptr<ImageWriter> create_raw_tiff(const std::string& path, const ImageMetadata& metadata,
                                             const CreateOptions& options, const TiffText& text);
/// Pages compressed by libtiff, in the order of page_number().
std::unique_ptr<ImageWriter> create_coded_tiff(const std::string& path,
                                               const ImageMetadata& metadata,
                                               const CreateOptions& options, const TiffText& text);

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
