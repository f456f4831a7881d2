// SPDX-License-Identifier: Apache-2.0
// Metadata of an image in an OME-XML document, beside its planes.

#include <algorithm>

#include "convolume/error.hpp"
#include "io/formats.hpp"
#include "io/ome/ome_document.hpp"
#include "io/ome/ome_nodes.hpp"
#include "io/ome/ome_xml.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

std::optional<double> length_um(const pugi::xml_node& pixels, const char* name, std::string& unit) {
    const auto size = parse_number(pixels.attribute(name).value());
    const std::string unit_name =
        pixels.attribute((std::string(name) + "Unit").c_str()).as_string("µm");
    const auto micrometers = micrometers_per(unit_name);
    if (!size || !micrometers || *size <= 0) return std::nullopt;
    unit = unit_name;
    return *size * *micrometers;
}

void read_calibration(const pugi::xml_node& pixels, ImageMetadata& metadata) {
    metadata.voxel_size_um = {length_um(pixels, "PhysicalSizeZ", metadata.unit),
                              length_um(pixels, "PhysicalSizeY", metadata.unit),
                              length_um(pixels, "PhysicalSizeX", metadata.unit)};
    const std::string time_unit = pixels.attribute("TimeIncrementUnit").as_string("s");
    const double seconds = time_unit == "ms"    ? 1e-3
                           : time_unit == "min" ? 60
                           : time_unit == "s"   ? 1
                                                : 0;
    const double interval = parse_number(pixels.attribute("TimeIncrement").value()).value_or(0);
    if (interval * seconds > 0) metadata.frame_interval_s = interval * seconds;
}

void read_scaling(const pugi::xml_node& root, ImageMetadata& metadata) {
    for (const pugi::xml_node& annotation : child(root, "StructuredAnnotations").children()) {
        if (std::string_view(annotation.attribute("Namespace").value()) != scaling_namespace)
            continue;
        std::optional<double> scale, offset;
        for (const pugi::xml_node& entry : child(annotation, "Value").children()) {
            const std::string_view key = entry.attribute("K").value();
            if (key == scale_key) scale = parse_number(entry.text().get());
            if (key == offset_key) offset = parse_number(entry.text().get());
        }
        metadata.scaling = usable_scaling(scale, offset);
    }
}

std::optional<double> positive(const pugi::xml_node& node, const char* name) {
    const auto value = parse_number(node.attribute(name).value());
    return value && *value > 0 ? value : std::nullopt;
}

/// A length whose unit is an attribute of its own, with OME's default.
std::optional<double> positive_um(const pugi::xml_node& node, const std::string& name,
                                  const char* default_unit) {
    const auto value = positive(node, name.c_str());
    const auto micrometers =
        micrometers_per(node.attribute((name + "Unit").c_str()).as_string(default_unit));
    if (!value || !micrometers) return std::nullopt;
    return *value * *micrometers;
}

/// The objective that the image names, or the only one there is.
pugi::xml_node objective_of(const pugi::xml_node& root, const pugi::xml_node& settings) {
    const std::string_view id = settings.attribute("ID").value();
    pugi::xml_node only;
    int count = 0;
    for (const pugi::xml_node& instrument : root.children()) {
        if (local_name(instrument) != "Instrument") continue;
        for (const pugi::xml_node& objective : instrument.children()) {
            if (local_name(objective) != "Objective") continue;
            if (!id.empty() && id == objective.attribute("ID").value()) return objective;
            only = objective;
            ++count;
        }
    }
    return count == 1 && id.empty() ? only : pugi::xml_node();
}

void read_microscope(const pugi::xml_node& root, const pugi::xml_node& image,
                     MicroscopeMetadata& microscope) {
    const pugi::xml_node settings = child(image, "ObjectiveSettings");
    const pugi::xml_node pixels = child(image, "Pixels");
    const pugi::xml_node objective = objective_of(root, settings);
    microscope.na = positive(objective, "LensNA");
    microscope.immersion = objective.attribute("Immersion").value();
    microscope.refractive_index = positive(settings, "RefractiveIndex");
    microscope.magnification = positive(objective, "CalibratedMagnification");
    if (!microscope.magnification)
        microscope.magnification = positive(objective, "NominalMagnification");
    if (const index_t bits = whole_number(pixels, "SignificantBits", 0); bits > 0 && bits <= 32)
        microscope.significant_bits = static_cast<int>(bits);
    for (const pugi::xml_node& channel : pixels.children()) {
        if (local_name(channel) != "Channel") continue;
        microscope.channels.push_back({positive_um(channel, "EmissionWavelength", "nm"),
                                       positive_um(channel, "ExcitationWavelength", "nm"),
                                       positive_um(channel, "PinholeSize", "µm"),
                                       channel.attribute("AcquisitionMode").value()});
    }
}

/// OME stores red, green, blue and alpha as a signed number of 32 bits. Its default, -1, is white
/// and says nothing.
std::optional<std::uint32_t> color_of(const pugi::xml_node& channel) {
    const index_t color = whole_number(channel, "Color", -1);
    if (color == -1 || color < INT32_MIN || color > INT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(color) >> 8;
}

void read_channels(const pugi::xml_node& pixels, ImageMetadata& metadata) {
    bool named = false;
    for (const pugi::xml_node& channel : pixels.children()) {
        if (local_name(channel) != "Channel") continue;
        metadata.channel_colors.push_back(color_of(channel));
        metadata.channel_names.emplace_back(channel.attribute("Name").value());
        named = named || !metadata.channel_names.back().empty();
    }
    if (!named) metadata.channel_names.clear();
}

/// The document with `image` alone, as text.
std::string text_with_image(const pugi::xml_document& document, index_t image) {
    pugi::xml_document copy;
    copy.reset(document);
    pugi::xml_node root = copy.document_element();
    std::vector<pugi::xml_node> others;
    index_t number = 0;
    for (const pugi::xml_node& node : root.children())
        if (local_name(node) == "Image" && number++ != image) others.push_back(node);
    for (const pugi::xml_node& node : others) root.remove_child(node);
    TextStream text;
    copy.save(text, "", pugi::format_raw);
    return text.str();
}

}  // namespace

void OmeDocument::describe(index_t image, ImageMetadata& metadata) const {
    const pugi::xml_node root = document_->document_element();
    const pugi::xml_node node = image_node(image);
    const pugi::xml_node pixels = child(node, "Pixels");
    read_calibration(pixels, metadata);
    read_scaling(root, metadata);
    read_microscope(root, node, metadata.microscope);
    read_channels(pixels, metadata);
    metadata.ome_xml = images_.size() == 1 ? text_ : text_with_image(*document_, image);
}

}  // namespace convolume::io
