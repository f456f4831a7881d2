// SPDX-License-Identifier: Apache-2.0
#pragma once
// BigDataViewer's XML file: voxel sizes and names of setups, and the file that holds the pixels.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pugi {
class xml_document;
}

namespace convolume::io {

/// A view setup: what is recorded at every time, such as a channel of a tile.
struct BdvSetup {
    int id = 0;
    std::string name;
    std::string unit;                               ///< empty if it is no length
    std::array<double, 3> size_um{};                ///< x, y, z of level 0; 0 where it is unknown
    std::map<std::string, std::string> attributes;  ///< "channel", "angle", …: their numbers
};

/// A file name of the XML, relative to another place or absolute.
struct BdvPath {
    std::string path;
    bool absolute = false;
};

struct BdvXml {
    std::string loader;  ///< format of the images: "bdv.hdf5", "bdv.n5", …
    BdvPath base;        ///< relative to the XML file
    BdvPath hdf5;        ///< relative to `base`; empty for other loaders
    std::vector<BdvSetup> setups;
    std::map<std::string, std::string> channel_names;  ///< by their numbers
};

/// Returns the contents of the document; nothing if it is not BigDataViewer's.
std::optional<BdvXml> read_bdv_xml(const pugi::xml_document& document);

}  // namespace convolume::io
