// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes as a caller names them for the pages of a TIFF, with their extents: "T2Z3C4YX".

#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::io {

struct PageAxes {
    std::string letters;           ///< in capitals
    std::vector<index_t> extents;  ///< one for each letter, 0 where none was given
    bool has_extents = false;
};

/// Reads letters that may each be followed by a number. Throws InvalidArgument for anything else.
PageAxes parse_page_axes(const std::string& text);

/// Returns the extents of the letters before YX for `pages` pages: one of them may be left out.
/// Throws InvalidArgument if their product is not `pages`. `what` names the file.
std::vector<index_t> page_extents(const PageAxes& axes, index_t pages, const std::string& what);

}  // namespace convolume::io
