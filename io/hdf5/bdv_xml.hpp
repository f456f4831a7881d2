// SPDX-License-Identifier: Apache-2.0
#pragma once
// The XML file beside a BigDataViewer HDF5 file.

#include <array>
#include <optional>
#include <string>

namespace pugi {
class xml_document;
}

namespace convolume::io {

struct BdvVoxel {
    std::string unit;
    std::array<double, 3> size_um{};  ///< x, y, z of level 0; 0 where it is unknown
};

/// What it says about the voxels of that setup; nothing where it says none in a unit of length.
std::optional<BdvVoxel> bdv_voxel(const pugi::xml_document& document, int setup);

}  // namespace convolume::io
