// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of the dimensions of an array in a file: which one is t, c, z, y or x.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// NumPy's limit for the dimensions of an array. A description with more is damaged.
inline constexpr std::size_t most_dimensions = 64;

struct AxisLayout {
    std::string axes;  ///< one letter of T, C, Z, Y, X for each dimension, slowest first
    std::vector<index_t> dims;
    bool assumed = false;  ///< true if neither the caller nor the file names the axes

    /// Returns the dimension that the letter `axis` names, or -1.
    int dimension(char axis) const;
    /// Returns the extent along `axis`; 1 if the array has no such axis.
    index_t extent(char axis) const;
    /// Returns the index along every dimension of the first sample of channel c, time t, plane z.
    std::vector<index_t> position(index_t t, index_t c, index_t z) const;
};

/// Tells whether `axes` are letters of TCZYX, none twice, with X, and with Y if there are others.
bool is_axes(const std::string& axes);

/// Returns the layout of an array with the extents `dims`. The axes are `requested`
/// (OpenOptions::axes) if not empty, else `file_axes`, else X, YX, ZYX, CZYX or TCZYX. Leading
/// dimensions of 1 are added or dropped to fit. Throws InvalidArgument if `requested` does not fit,
/// BadData for extents below 1 or too many dimensions. `what` names the array in messages.
AxisLayout axis_layout(std::vector<index_t> dims, const std::string& file_axes,
                       const std::string& requested, const std::string& what);

/// Sets frames, channels, shape and axes of `metadata`.
void set_extents(ImageMetadata& metadata, const AxisLayout& layout);

/// Returns a text such as "3×64×64".
std::string dims_text(const std::vector<index_t>& dims);

}  // namespace convolume::io
