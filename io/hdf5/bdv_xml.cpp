// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/bdv_xml.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "io/units.hpp"

namespace convolume::io {

std::optional<BdvVoxel> bdv_voxel(const pugi::xml_document& document, int setup_number) {
    for (const pugi::xml_node& setup : document.child("SpimData")
                                           .child("SequenceDescription")
                                           .child("ViewSetups")
                                           .children("ViewSetup")) {
        if (setup.child("id").text().as_int(-1) != setup_number) continue;
        const pugi::xml_node voxel = setup.child("voxelSize");
        const auto micrometers = micrometers_per(voxel.child_value("unit"));
        if (!micrometers) return std::nullopt;
        BdvVoxel found;
        found.unit = voxel.child_value("unit");
        std::istringstream sizes(voxel.child_value("size"));
        for (double& size_um : found.size_um) {
            std::string word;
            sizes >> word;
            if (const auto size = parse_number(word); size && *size > 0)
                size_um = *size * *micrometers;
        }
        return found;
    }
    return std::nullopt;
}

}  // namespace convolume::io
