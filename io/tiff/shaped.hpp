// SPDX-License-Identifier: Apache-2.0
#pragma once
// tifffile's {"shape": [3, 64, 64], "axes": "ZYX"} in the ImageDescription.

#include <optional>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/stack.hpp"

namespace convolume::io {

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
