// SPDX-License-Identifier: Apache-2.0
#pragma once
// Planes as a TIFF's description gives them, before they are held against the pages.

#include <cstdint>
#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Page of a file of the set: files are numbered as TiffFiles has them, pages in file order.
struct TiffPlace {
    index_t file = 0;
    index_t page = -1;  ///< -1: there is none
};

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

}  // namespace convolume::io
