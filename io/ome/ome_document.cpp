// SPDX-License-Identifier: Apache-2.0
#include "io/ome/ome_document.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "io/ome/ome_nodes.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

OmePlanes planes_of(const pugi::xml_node& data) {
    OmePlanes planes;
    const pugi::xml_node uuid = child(data, "UUID");
    planes.file = uuid.attribute("FileName").value();
    planes.uuid = uuid.text().get();
    constexpr const char* names[] = {"FirstZ", "FirstC", "FirstT"};
    for (int i = 0; i < 3; ++i) planes.first[i] = whole_number(data, names[i], 0);
    planes.page = whole_number(data, "IFD", 0);
    planes.count = whole_number(data, "PlaneCount", data.attribute("IFD") ? 1 : -1);
    return planes;
}

OmeImage image_of(const pugi::xml_node& node) {
    OmeImage image;
    const pugi::xml_node pixels = child(node, "Pixels");
    image.name = node.attribute("Name").value();
    image.width = whole_number(pixels, "SizeX", 0);
    image.height = whole_number(pixels, "SizeY", 0);
    image.size_z = whole_number(pixels, "SizeZ", 0);
    image.size_c = whole_number(pixels, "SizeC", 0);
    image.size_t = whole_number(pixels, "SizeT", 0);
    const std::string order = pixels.attribute("DimensionOrder").value();
    std::string sorted = order;
    std::sort(sorted.begin(), sorted.end());
    image.has_assumed_order = sorted != "CTXYZ" || !order.starts_with("XY");
    if (!image.has_assumed_order) image.order = order;
    for (const pugi::xml_node& data : pixels.children())
        if (local_name(data) == "TiffData") image.planes.push_back(planes_of(data));
    return image;
}

}  // namespace

bool is_ome_description(const std::string& description) {
    return description.find("<OME") != std::string::npos ||
           description.find("<ome:OME") != std::string::npos ||
           description.find("<OME:OME") != std::string::npos;
}

OmeDocument::OmeDocument(const std::string& xml, const std::string& path)
    : path_(path),
      // Old programs wrote the sign for micro as one byte, whatever encoding they declared.
      text_(utf8_text(xml)),
      document_(std::make_unique<pugi::xml_document>()) {
    const pugi::xml_parse_result parsed = document_->load_string(text_.c_str());
    if (!parsed)
        throw BadData(message("the OME-XML of ", path, " cannot be read (", parsed.description(),
                              "); save the file again"));
    const pugi::xml_node root = document_->document_element();
    uuid_ = root.attribute("UUID").value();
    companion_ = child(root, "BinaryOnly").attribute("MetadataFile").value();
    for (const pugi::xml_node& node : root.children())
        if (local_name(node) == "Image") images_.push_back(image_of(node));
    if (images_.empty() && companion_.empty())
        throw BadData(message("the OME-XML of ", path, " describes no image; save the file again"));
}

OmeDocument::~OmeDocument() = default;

pugi::xml_node OmeDocument::image_node(index_t image) const {
    index_t number = 0;
    for (const pugi::xml_node& node : document_->document_element().children())
        if (local_name(node) == "Image" && number++ == image) return node;
    throw InternalError("an image of an OME-XML document beyond its last one");
}

}  // namespace convolume::io
