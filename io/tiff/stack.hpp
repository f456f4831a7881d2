// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a TIFF's description says about its planes, before it is held against the pages.

#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::io {

struct TiffStack {
    std::string axes;           ///< of T, C, Z: the order of the planes, slowest first
    std::vector<index_t> dims;  ///< one a letter, 1 at least
    /// Page of each plane, -1 for none; empty: planes and pages correspond in order.
    std::vector<index_t> page_of_plane;

    /// The product of dims, or the largest index_t.
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
