// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/bdv_xml.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "io/units.hpp"

namespace convolume::io {
namespace {

BdvPath path_of(const pugi::xml_node& element) {
    return {element.text().get(), std::string(element.attribute("type").value()) == "absolute"};
}

BdvSetup setup_of(const pugi::xml_node& element) {
    BdvSetup setup;
    setup.id = element.child("id").text().as_int(-1);
    setup.name = element.child_value("name");
    for (const pugi::xml_node& attribute : element.child("attributes").children())
        setup.attributes[attribute.name()] = attribute.text().get();
    const pugi::xml_node voxel = element.child("voxelSize");
    const auto micrometers = micrometers_per(voxel.child_value("unit"));
    if (!micrometers) return setup;
    setup.unit = voxel.child_value("unit");
    std::istringstream sizes(voxel.child_value("size"));
    for (double& size_um : setup.size_um) {
        std::string word;
        sizes >> word;
        if (const auto size = parse_number(word); size && *size > 0) size_um = *size * *micrometers;
    }
    return setup;
}

}  // namespace

std::optional<BdvXml> read_bdv_xml(const pugi::xml_document& document) {
    const pugi::xml_node root = document.child("SpimData");
    if (!root) return std::nullopt;
    const pugi::xml_node sequence = root.child("SequenceDescription");
    const pugi::xml_node loader = sequence.child("ImageLoader");
    BdvXml xml;
    xml.loader = loader.attribute("format").value();
    xml.base = path_of(root.child("BasePath"));
    xml.hdf5 = path_of(loader.child("hdf5"));
    for (const pugi::xml_node& setup : sequence.child("ViewSetups").children("ViewSetup"))
        xml.setups.push_back(setup_of(setup));
    for (const pugi::xml_node& list : sequence.child("ViewSetups").children("Attributes"))
        if (std::string(list.attribute("name").value()) == "channel")
            for (const pugi::xml_node& channel : list.children("Channel"))
                xml.channel_names[channel.child_value("id")] = channel.child_value("name");
    return xml;
}

std::optional<BdvXml> load_bdv_xml(const std::string& path) {
    pugi::xml_document document;
    if (!document.load_file(path.c_str())) return std::nullopt;
    return read_bdv_xml(document);
}

}  // namespace convolume::io
