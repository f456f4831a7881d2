// SPDX-License-Identifier: Apache-2.0
#pragma once
// BigDataViewer's XML file: voxel sizes and names of setups, and the path of the HDF5 file.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pugi {
class xml_document;
}

namespace convolume::io {

/// A view setup, which is recorded at every time, such as a channel of a tile.
struct BdvSetup {
    int id = 0;
    std::string name;
    std::string unit;                 ///< empty if it is no unit of length
    std::array<double, 3> size_um{};  ///< voxel size along x, y, z of level 0; 0 if it is unknown
    std::map<std::string, std::string> attributes;  ///< numbers of "channel", "angle", …
};

/// A path in the XML file, relative to another path or absolute.
struct BdvPath {
    std::string path;
    bool absolute = false;
};

struct BdvXml {
    std::string loader;  ///< format of the images: "bdv.hdf5", "bdv.n5", …
    BdvPath base;        ///< folder of the data, relative to that of the XML file
    BdvPath hdf5;        ///< the HDF5 file, relative to `base`; empty for other loaders
    std::vector<BdvSetup> setups;
    std::map<std::string, std::string> channel_names;  ///< names by channel number
};

/// Returns the contents of the document; nothing if it is not BigDataViewer's.
std::optional<BdvXml> read_bdv_xml(const pugi::xml_document& document);

}  // namespace convolume::io
