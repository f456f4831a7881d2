// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the dimensions of a file's array mean.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// Of NumPy's arrays: descriptions of more are damaged.
inline constexpr std::size_t most_dimensions = 64;

struct AxisLayout {
    std::string axes;  ///< one letter of T, C, Z, Y, X for each dimension, slowest first
    std::vector<index_t> dims;
    bool assumed = false;  ///< neither the caller nor the file named the axes

    /// Dimension with that letter, or -1.
    int dimension(char axis) const;
    /// Extent along that axis; 1 where the array has none.
    index_t extent(char axis) const;
    /// Position of channel c, time t, plane z (y = x = 0) along every dimension.
    std::vector<index_t> position(index_t t, index_t c, index_t z) const;
};

/// Whether these are letters of TCZYX, none twice, with X, and with Y if there are others.
bool is_axes(const std::string& axes);

/// The layout of an array of `dims`: by `asked` (OpenOptions::axes) if not empty, else by
/// `file_axes`, else X, YX, ZYX, CZYX or TCZYX; leading dimensions of 1 come and go to fit. Throws
/// InvalidArgument when `asked` does not fit, BadData for extents below 1 or too many dimensions.
AxisLayout axis_layout(std::vector<index_t> dims, const std::string& file_axes,
                       const std::string& asked, const std::string& what);

/// Sets frames, channels, shape and axes.
void set_extents(ImageMetadata& metadata, const AxisLayout& layout);

/// "3×64×64"
std::string dims_text(const std::vector<index_t>& dims);

}  // namespace convolume::io
