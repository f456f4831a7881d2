// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the two TIFF writers share.

#include "io/formats.hpp"
#include "io/tiff/imagej_text.hpp"
#include "io/value_range.hpp"

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

}  // namespace convolume::io
