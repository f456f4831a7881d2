// SPDX-License-Identifier: Apache-2.0
#pragma once
// How programs say in a TIFF what its pages are. Each dialect has a file of its own.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"
#include "io/tiff/directory.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/series.hpp"

namespace convolume::io {

struct TiffStack {
    std::string axes;           ///< of T, C, Z: the order of the planes, slowest first
    std::vector<index_t> dims;  ///< one for each letter, at least 1
    /// Page of each plane. Empty: consecutive pages of the file, thumbnails left out, from
    /// `first_page` on.
    std::vector<TiffPlace> places;
    index_t first_page = 0;
    /// Meaning of the samples of a page: colors (S), or planes, times or channels of the stack (Z,
    /// T, C), which then vary fastest.
    char sample_axis = 'S';
    /// All planes lie one behind another from the first page's pixels on, whatever the number of
    /// pages.
    bool behind_first_page = false;
    /// Pages beyond the planes belong to other images.
    bool has_other_pages = false;
    /// Metadata that do not tell what the pages are, as the rest of a sentence about the file. If
    /// it is not empty, nothing else holds, and the caller's axes decide.
    std::string ambiguity;

    /// Returns the product of dims, or the largest index_t.
    index_t planes() const {
        index_t product = 1;
        for (const index_t extent : dims) {
            if (product > INT64_MAX / extent) return INT64_MAX;
            product *= extent;
        }
        return product;
    }
};

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

/// Axes and scales that one such description gives to the pages from it on.
struct ShapedText {
    std::vector<index_t> dims;      ///< without those of one page
    std::string axes;               ///< one letter for each of `dims`; empty: the text has none
    bool has_axes = false;          ///< the text names axes, those of a page included
    bool has_assumed_axes = false;  ///< `axes` were not in the text
    char sample_axis = 'S';         ///< letter of the samples of a page
    std::string unit;               ///< as the text has it; may be empty
    std::optional<double> spacing;
};

/// Reads `description`. Returns nothing if it is no such text, or does not fit `page`.
std::optional<ShapedText> parse_shaped(const std::string& description, const TiffPage& page);

}  // namespace convolume::io
