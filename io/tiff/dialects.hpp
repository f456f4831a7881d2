// SPDX-License-Identifier: Apache-2.0
#pragma once
// How programs say in a TIFF what its pages are. Each dialect has a file of its own.

#include <array>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "io/tiff/files.hpp"
#include "io/tiff/stack.hpp"
#include "io/tiff/tags.hpp"

namespace convolume::io {

class OmeDocument;

/// A TIFF whose meaning is sought. The handle stands at the first directory.
struct TiffSource {
    TiffFiles& files;  ///< this one is the first; OME-XML may name others
    TiffHandle& tiff;
    const RawFile& file;
    const std::vector<TiffPage>& pages;
    std::vector<index_t> full;                ///< pages that are no thumbnails; at least one
    std::string description;                  ///< ImageDescription of the first page
    std::array<double, 2> pixels_per_unit{};  ///< y and x of the resolution tags, 0 where missing
    const OpenOptions& options;
    const OmeDocument* document;  ///< that describes the file from outside; mostly null

    const TiffPage& first_page() const { return pages[static_cast<std::size_t>(full[0])]; }
};

/// Finds the dialect of a file and reads what it says. Sets `format` and whatever else the dialect
/// knows; extents and type are left to the caller. Throws BadData for contradictions.
TiffStack read_dialect(TiffSource& source, ImageMetadata& metadata);

// Each returns nothing if the file is not of that dialect.
std::optional<TiffStack> read_ome(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_imagej(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_zeiss_lsm(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_metamorph(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_shaped(TiffSource& source, ImageMetadata& metadata);
/// Recognizes programs whose pages may be of several dimensions, and whose metadata are not
/// understood here: the stack is `ambiguity`.
std::optional<TiffStack> read_foreign(TiffSource& source, ImageMetadata& metadata);
/// Pages without metadata. Pages of several sizes or types are several images.
TiffStack read_plain(TiffSource& source, ImageMetadata& metadata);

/// Sets voxel sizes along y and x from the resolution tags, unless these are of a print.
void read_plain_calibration(const TiffSource& source, ImageMetadata& metadata);

/// Returns the number of the image that `options.image` asks for among `names`, one for each image,
/// and sets `images`, `image` and `image_name`. Without a choice it is `default_image`, and a note
/// says so unless no other one is meant (`is_only_candidate`). Throws InvalidArgument that lists
/// the images if there is none of that name or number.
index_t choose_image(const std::vector<std::string>& names, const OpenOptions& options,
                     index_t default_image, const std::string& path, ImageMetadata& metadata,
                     bool is_only_candidate = false);

}  // namespace convolume::io
