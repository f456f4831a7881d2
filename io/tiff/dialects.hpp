// SPDX-License-Identifier: Apache-2.0
#pragma once
// How programs describe in a TIFF what its pages are. Each dialect has its own source file.

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

/// The planes of an image: their axes, and the page of each plane.
struct TiffStack {
    std::string axes;           ///< letters of T, C, Z: the order of the planes, slowest first
    std::vector<index_t> dims;  ///< extent along each axis, at least 1
    /// Page of each plane. If empty, the planes are consecutive pages of the file from `first_page`
    /// on, not counting thumbnails.
    std::vector<TiffPageRef> plane_pages;
    index_t first_page = 0;
    /// Meaning of the samples of a page: colors (S), or planes, times or channels of the stack (Z,
    /// T, C). The latter vary fastest.
    char sample_axis = 'S';
    /// true if all planes follow the first page's pixels, whatever the number of pages.
    bool behind_first_page = false;
    /// true if pages beyond the planes belong to other images.
    bool has_other_pages = false;
    /// Rest of a sentence about the file: why its metadata do not tell what the pages are. If it is
    /// not empty, no other member is valid, and the caller's axes decide.
    std::string ambiguity;

    /// Returns the number of planes: the product of dims, or the largest index_t.
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

/// A TIFF whose dialect is sought, and facts for all dialects. The handle is at the first
/// directory.
struct TiffSource {
    TiffFiles& files;  ///< the first of these is the TIFF; OME-XML may name others
    TiffHandle& tiff;
    const RawFile& file;
    const std::vector<TiffPage>& pages;
    /// numbers of the pages that are no thumbnails; at least one
    std::vector<index_t> full_pages;
    std::string description;                  ///< ImageDescription of the first page
    std::array<double, 2> pixels_per_unit{};  ///< resolution along y and x; 0 if the tag is missing
    const OpenOptions& options;
    const OmeDocument* document;  ///< OME-XML beside the file that describes it; mostly null

    const TiffPage& first_page() const { return pages[static_cast<std::size_t>(full_pages[0])]; }
};

/// Finds the dialect of a file and reads its description. Sets `format` and all other metadata,
/// except extents and type, which the caller sets. Throws BadData for contradictions.
TiffStack read_dialect(TiffSource& source, ImageMetadata& metadata);

// Each of these functions reads one dialect. It returns nothing if the file is of another one.
std::optional<TiffStack> read_ome(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_imagej(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_zeiss_lsm(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_metamorph(TiffSource& source, ImageMetadata& metadata);
std::optional<TiffStack> read_shaped(TiffSource& source, ImageMetadata& metadata);
/// Recognizes programs whose pages may have several dimensions, but whose metadata are not
/// understood. Sets the stack's `ambiguity`.
std::optional<TiffStack> read_foreign(TiffSource& source, ImageMetadata& metadata);
/// Reads pages without metadata. Pages of several sizes or types are several images.
TiffStack read_plain(TiffSource& source, ImageMetadata& metadata);

/// Sets voxel sizes along y and x from the resolution tags, unless they seem to be of a print.
void read_plain_calibration(const TiffSource& source, ImageMetadata& metadata);

/// Adds a note that a resolution was not used, since it is that of a print.
void note_print_resolution(double pixels_per_inch, ImageMetadata& metadata);

/// Returns the number of the image that `options.image` selects among `names`, one for each image.
/// Sets `images`, `image` and `image_name`. Without a selection it is `default_image`. A note says
/// so, unless only this image can be meant (`is_only_candidate`). Throws InvalidArgument with a
/// list of the images if the name or number is unknown.
index_t choose_image(const std::vector<std::string>& names, const OpenOptions& options,
                     index_t default_image, const std::string& path, ImageMetadata& metadata,
                     bool is_only_candidate = false);

/// Axes and scales that one description of tifffile gives to its page and to pages after it.
struct ShapedDescription {
    std::vector<index_t> dims;      ///< extents, without the dimensions of a page
    std::string axes;               ///< one letter for each of `dims`; empty if the text has none
    bool has_axes = false;          ///< true if the text names axes, including those of a page
    bool has_assumed_axes = false;  ///< true if `axes` were not in the text
    char sample_axis = 'S';         ///< axis letter of the samples of a page
    std::string unit;               ///< unit of length in the text; may be empty
    std::optional<double> spacing;  ///< distance of planes in `unit`
};

/// Parses a description of tifffile, a JSON object with the key "shape". Returns nothing for other
/// texts, or if the shape does not fit `page`.
std::optional<ShapedDescription> parse_shaped(const std::string& description, const TiffPage& page);

}  // namespace convolume::io
