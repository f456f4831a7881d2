// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides a result into blocks that fit memory.

#include "deskew/geometry.hpp"

namespace convolume::deskewing {

/// Blocks of a result, in planes, rows and columns.
struct ResultDivision {
    Shape3 block;  ///< extents of the largest block
    Shape3 read;   ///< extents of the largest box that a block needs
    Shape3 count;  ///< blocks along each axis
    index_t host_bytes = 0;
    bool overlapped = true;

    index_t blocks() const { return count.z * count.y; }
    Box3 at(index_t block_number, const Shape3& result) const;
};

/// Types and storage of the samples of a run.
struct StoredTypes {
    PixelType recorded, result;
    index_t planes_of_piece = 1;  ///< planes that are stored together
};

/// Returns the division for a memory limit. Throws OutOfMemory.
ResultDivision divide(const Geometry& geometry, const DeskewOptions& options,
                      const StoredTypes& storage);

}  // namespace convolume::deskewing
