// SPDX-License-Identifier: Apache-2.0
// Writes OME-XML documents.

#include <cstdint>
#include <pugixml.hpp>
#include <string_view>
#include <vector>

#include "convolume/error.hpp"
#include "io/ome/document.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr const char* empty_document =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
    "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
    "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\">"
    "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\"/></Image></OME>";

const char* ome_type(PixelType type) {
    switch (type) {
        case PixelType::float32:
            return "float";
        case PixelType::float64:
            return "double";
        case PixelType::complex64:
            return "complex";
        case PixelType::complex128:
            return "double-complex";
        default:
            return to_string(type);
    }
}

/// Sets an attribute, and appends it if it does not exist.
template <class Value>
void set(pugi::xml_node node, const char* name, const Value& value) {
    pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) attribute = node.append_attribute(name);
    attribute.set_value(value);
}

/// Loads the source's document `xml`. Returns false if it cannot be extended.
bool load_source(pugi::xml_document& document, const std::string& xml) {
    // A document with namespace prefixes would need them at added elements too.
    return !xml.empty() && document.load_string(xml.c_str()) &&
           document.child("OME").child("Image").child("Pixels");
}

void remove_all(pugi::xml_node parent, const char* name) {
    while (parent.remove_child(name)) {
    }
}

void set_size(pugi::xml_node pixels, const ImageMetadata& metadata) {
    set(pixels, "DimensionOrder", "XYZCT");
    set(pixels, "Type", ome_type(metadata.type));
    set(pixels, "SizeX", static_cast<long long>(metadata.shape.x));
    set(pixels, "SizeY", static_cast<long long>(metadata.shape.y));
    set(pixels, "SizeZ", static_cast<long long>(metadata.shape.z));
    set(pixels, "SizeC", static_cast<long long>(metadata.channels));
    set(pixels, "SizeT", static_cast<long long>(metadata.frames));
    // These attributes describe the coding of the source's samples.
    for (const char* name : {"BigEndian", "SignificantBits", "Interleaved"})
        pixels.remove_attribute(name);
}

void set_calibration(pugi::xml_node pixels, const ImageMetadata& metadata) {
    constexpr const char* names[] = {"PhysicalSizeZ", "PhysicalSizeY", "PhysicalSizeX"};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::string unit_name = std::string(names[axis]) + "Unit";
        const auto micrometers =
            micrometers_per(pixels.attribute(unit_name.c_str()).as_string("µm"));
        const auto& size = metadata.voxel_size_um[axis];
        if (!size) {
            pixels.remove_attribute(names[axis]);
            pixels.remove_attribute(unit_name.c_str());
            continue;
        }
        set(pixels, names[axis], number_text(*size / micrometers.value_or(1)).c_str());
        if (!micrometers) pixels.remove_attribute(unit_name.c_str());
    }
    if (!metadata.frame_interval_s) return;
    set(pixels, "TimeIncrement", number_text(*metadata.frame_interval_s).c_str());
    pixels.remove_attribute("TimeIncrementUnit");
}

/// Sets the color of a channel: red, green, blue and opacity in a signed number, white by default.
void set_color(pugi::xml_node channel, std::uint32_t rgb) {
    const auto stored = static_cast<std::uint32_t>(channel.attribute("Color").as_llong(-1));
    if (stored >> 8 != rgb) set(channel, "Color", static_cast<int>(rgb << 8 | 0xff));
}

void set_channels(pugi::xml_node pixels, const ImageMetadata& metadata) {
    const auto existing =
        std::distance(pixels.children("Channel").begin(), pixels.children("Channel").end());
    if (existing != metadata.channels) {
        remove_all(pixels, "Channel");
        pugi::xml_node last;
        for (index_t c = 0; c < metadata.channels; ++c) {
            last =
                last ? pixels.insert_child_after("Channel", last) : pixels.prepend_child("Channel");
            set(last, "ID", message("Channel:0:", c).c_str());
        }
    }
    std::size_t c = 0;
    for (pugi::xml_node channel : pixels.children("Channel")) {
        set(channel, "SamplesPerPixel", 1);
        if (c < metadata.channel_names.size() && !metadata.channel_names[c].empty())
            set(channel, "Name", metadata.channel_names[c].c_str());
        if (c < metadata.channel_colors.size() && metadata.channel_colors[c])
            set_color(channel, *metadata.channel_colors[c]);
        ++c;
    }
}

/// Removes data of missing planes. Adds TiffData, whose place is between channels and planes.
void set_planes(pugi::xml_node pixels, const ImageMetadata& metadata) {
    for (const char* name : {"TiffData", "BinData", "MetadataOnly"}) remove_all(pixels, name);
    std::vector<pugi::xml_node> outdated;
    for (const pugi::xml_node& plane : pixels.children("Plane"))
        if (plane.attribute("TheZ").as_llong() < 0 ||
            plane.attribute("TheZ").as_llong() >= metadata.shape.z ||
            plane.attribute("TheC").as_llong() >= metadata.channels ||
            plane.attribute("TheT").as_llong() >= metadata.frames)
            outdated.push_back(plane);
    for (const pugi::xml_node& plane : outdated) pixels.remove_child(plane);
    pugi::xml_node last_channel;
    for (const pugi::xml_node& channel : pixels.children("Channel")) last_channel = channel;
    pugi::xml_node tiff_data = pixels.insert_child_after("TiffData", last_channel);
    set(tiff_data, "IFD", 0);
    set(tiff_data, "PlaneCount",
        static_cast<long long>(metadata.frames * metadata.channels * metadata.shape.z));
}

bool is_scaling(const pugi::xml_node& annotation) {
    return std::string_view(annotation.attribute("Namespace").value()) == scaling_namespace;
}

/// Removes the source's scaling, which does not hold for the written values.
void remove_scalings(pugi::xml_node root) {
    const pugi::xml_node annotations = root.child("StructuredAnnotations");
    std::vector<pugi::xml_node> outdated;
    for (const pugi::xml_node& annotation : annotations.children())
        if (is_scaling(annotation)) outdated.push_back(annotation);
    for (const pugi::xml_node& annotation : outdated) {
        const std::string id = annotation.attribute("ID").value();
        while (const pugi::xml_node reference =
                   root.child("Image").find_child_by_attribute("AnnotationRef", "ID", id.c_str()))
            root.child("Image").remove_child(reference);
        root.child("StructuredAnnotations").remove_child(annotation);
    }
    if (annotations && !annotations.first_child()) root.remove_child(annotations);
}

void set_scaling(pugi::xml_node root, const ImageMetadata& metadata) {
    constexpr const char* id = "Annotation:convolume-value-scaling";
    remove_scalings(root);
    if (!metadata.scaling) return;
    set(root.child("Image").append_child("AnnotationRef"), "ID", id);
    pugi::xml_node annotations = root.child("StructuredAnnotations");
    if (!annotations)
        annotations = root.insert_child_after("StructuredAnnotations", root.child("Image"));
    pugi::xml_node annotation = annotations.append_child("MapAnnotation");
    set(annotation, "ID", id);
    set(annotation, "Namespace", scaling_namespace);
    annotation.append_child("Description").text().set("value = stored * scale + offset");
    pugi::xml_node value = annotation.append_child("Value");
    const auto add = [&](const char* key, double number) {
        pugi::xml_node entry = value.append_child("M");
        set(entry, "K", key);
        entry.text().set(number_text(number).c_str());
    };
    add(scale_key, metadata.scaling->scale);
    add(offset_key, metadata.scaling->offset);
}

}  // namespace

std::string ome_xml(const ImageMetadata& metadata, const std::string& software) {
    pugi::xml_document document;
    if (!load_source(document, metadata.ome_xml)) document.load_string(empty_document);
    pugi::xml_node root = document.child("OME");
    // The UUID identifies the source file.
    root.remove_attribute("UUID");
    if (!software.empty()) set(root, "Creator", software.c_str());
    const pugi::xml_node pixels = root.child("Image").child("Pixels");
    set_size(pixels, metadata);
    set_calibration(pixels, metadata);
    set_channels(pixels, metadata);
    set_planes(pixels, metadata);
    set_scaling(root, metadata);
    TextStream text;
    document.save(text, "", pugi::format_raw);
    return text.str();
}

void move_ome_planes(ImageMetadata& metadata, index_t first_z) {
    pugi::xml_document document;
    if (first_z == 0 || !load_source(document, metadata.ome_xml)) return;
    const pugi::xml_node pixels = document.child("OME").child("Image").child("Pixels");
    for (const pugi::xml_node& plane : pixels.children("Plane"))
        set(plane, "TheZ", static_cast<long long>(plane.attribute("TheZ").as_llong() - first_z));
    TextStream text;
    document.save(text, "", pugi::format_raw);
    metadata.ome_xml = text.str();
}

}  // namespace convolume::io
