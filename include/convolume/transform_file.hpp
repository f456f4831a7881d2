// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of affine maps, by which programs for registration say where one image lies in another.

#include <string>

#include "convolume/export.hpp"
#include "convolume/voxel_map.hpp"

namespace convolume::io {

/// An affine map from a file, along z, y, x.
struct FileTransform {
    /// From the voxels, or lengths, of the image that was registered to those of a common space.
    VoxelMap map;
    bool in_voxels = false;  ///< whether the format itself says that positions are in voxels
};

/// Reads a map. The files have x, y, z in this order, and are one of:
///
/// - numbers: 3 rows of 4, or 4 rows whose last is 0 0 0 1, from the registered image to the
///   common space; lines may begin with # as comments
/// - a transform of ITK as text ("#Insight Transform File V1.0"), an affine one, or a translation:
///   these map from the common (fixed) space to the registered (moving) image, and are inverted
/// - the XML of BigDataViewer and BigStitcher, with the number of the setup, and of the time if it
///   is not 0, after the name: "dataset.xml:1" or "dataset.xml:1:5"; from voxels of the view
///
/// Throws InputNotFound, or BadData for other content and for maps without an inverse.
/// @code{.cpp}
/// {
///     std::ofstream file("moved.txt");
///     file << "1 0 0 5\n0 1 0 0\n0 0 1 -2\n";  // 5 along x, -2 along z
/// }
/// const io::FileTransform moved = io::read_transform("moved.txt");
/// assert((moved.map.offset == std::array<double, 3>{-2, 0, 5}) && !moved.in_voxels);
/// @endcode
CONVOLUME_API FileTransform read_transform(const std::string& path);

}  // namespace convolume::io
