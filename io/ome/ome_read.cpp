// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <pugixml.hpp>

#include "convolume/error.hpp"
#include "io/formats.hpp"
#include "io/ome/ome_xml.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Elements may carry a namespace prefix: <OME:Image>.
std::string_view local_name(const pugi::xml_node& node) {
    const std::string_view name = node.name();
    const auto colon = name.find(':');
    return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
    for (const pugi::xml_node& node : parent.children())
        if (local_name(node) == name) return node;
    return {};
}

index_t whole_number(const pugi::xml_node& node, const char* name, index_t otherwise) {
    const std::string_view text = node.attribute(name).value();
    index_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? value : otherwise;
}

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

void read_microscope(const pugi::xml_node& root, const pugi::xml_node& pixels,
                     MicroscopeMetadata& microscope) {
    const pugi::xml_node settings = child(child(root, "Image"), "ObjectiveSettings");
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

/// Whether a TiffData element speaks of another file than `path`.
bool is_elsewhere(const pugi::xml_node& data, const std::string& path) {
    const std::string file = child(data, "UUID").attribute("FileName").value();
    return !file.empty() &&
           std::filesystem::path(file).filename() != std::filesystem::path(path).filename();
}

/// Position of a plane in the order of `stack`.
index_t plane_index(const TiffStack& stack, const pugi::xml_node& data, index_t samples) {
    index_t index = 0;
    for (std::size_t d = 0; d < stack.dims.size(); ++d) {
        const char axis = stack.axes[d];
        index_t first = whole_number(data,
                                     axis == 'T'   ? "FirstT"
                                     : axis == 'C' ? "FirstC"
                                                   : "FirstZ",
                                     0);
        if (axis == 'C') first /= samples;
        if (first < 0 || first >= stack.dims[d]) return -1;
        index = index * stack.dims[d] + first;
    }
    return index;
}

void place_planes(const pugi::xml_node& pixels, const std::string& path, index_t pages,
                  index_t samples, TiffStack& stack) {
    const index_t planes = stack.planes();
    if (!child(pixels, "TiffData")) return;
    stack.page_of_plane.assign(static_cast<std::size_t>(planes), -1);
    bool elsewhere = false;
    for (const pugi::xml_node& data : pixels.children()) {
        if (local_name(data) != "TiffData") continue;
        if (is_elsewhere(data, path)) {
            elsewhere = true;
            continue;
        }
        const index_t first = plane_index(stack, data, samples);
        const index_t page = whole_number(data, "IFD", 0);
        if (first < 0 || page < 0) continue;
        const index_t all = data.attribute("IFD") ? 1 : planes;
        const index_t count =
            std::clamp<index_t>(whole_number(data, "PlaneCount", all), 0,
                                std::min(planes - first, std::max<index_t>(pages - page, 0)));
        for (index_t i = 0; i < count; ++i)
            stack.page_of_plane[static_cast<std::size_t>(first + i)] = page + i;
    }
    const auto missing = std::count(stack.page_of_plane.begin(), stack.page_of_plane.end(), -1);
    if (missing == 0) return;
    throw BadData(message(path, " lacks ", missing, " of the ", planes, " planes its OME-XML names",
                          elsewhere
                              ? "; the others are in other files, join them first (bfconvert can)"
                              : "; it is truncated or was never completed"));
}

}  // namespace

bool is_ome_description(const std::string& description) {
    return description.find("<OME") != std::string::npos ||
           description.find("<ome:OME") != std::string::npos ||
           description.find("<OME:OME") != std::string::npos;
}

OmeImage read_ome_xml(const std::string& xml, const std::string& path, index_t pages,
                      index_t samples, ImageMetadata& metadata) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_string(xml.c_str());
    if (!parsed)
        throw BadData(message("the OME-XML of ", path, " cannot be read (", parsed.description(),
                              "); save the file again"));
    const pugi::xml_node root = document.document_element();
    if (child(root, "BinaryOnly"))
        throw BadData(message(path, " is one part of a set whose OME-XML is in ",
                              child(root, "BinaryOnly").attribute("MetadataFile").value(),
                              "; join the set to one file first (bfconvert can)"));
    const pugi::xml_node pixels = child(child(root, "Image"), "Pixels");
    const auto is_image = [](const pugi::xml_node& node) { return local_name(node) == "Image"; };
    metadata.images = std::max<index_t>(
        1, std::count_if(root.children().begin(), root.children().end(), is_image));
    if (metadata.images > 1)
        metadata.notes.push_back(
            message("the file holds ", metadata.images, " images, of which the first is read"));

    OmeImage image;
    image.width = whole_number(pixels, "SizeX", 0);
    image.height = whole_number(pixels, "SizeY", 0);
    std::string order = pixels.attribute("DimensionOrder").as_string("XYZCT");
    std::string sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != "CTXYZ" || order.compare(0, 2, "XY") != 0) order = "XYZCT";
    for (const char axis : {order[4], order[3], order[2]}) {
        const char name[] = {'S', 'i', 'z', 'e', axis, '\0'};
        index_t extent = whole_number(pixels, name, 0);
        if (axis == 'C') extent = extent % samples == 0 ? extent / samples : 0;
        if (extent < 1)
            throw BadData(
                message("the OME-XML of ", path, " has no usable ", name, "; save the file again"));
        image.stack.axes += axis;
        image.stack.dims.push_back(extent);
    }
    if (image.stack.planes() > pages)
        throw BadData(message("the OME-XML of ", path, " names ", image.stack.planes(),
                              " planes, but the file has ", pages,
                              " pages; it is truncated or one of several files"));
    place_planes(pixels, path, pages, samples, image.stack);

    read_calibration(pixels, metadata);
    read_scaling(root, metadata);
    read_microscope(root, pixels, metadata.microscope);
    bool named = false;
    for (const pugi::xml_node& channel : pixels.children()) {
        if (local_name(channel) != "Channel") continue;
        metadata.channel_colors.push_back(color_of(channel));
        metadata.channel_names.emplace_back(channel.attribute("Name").value());
        named = named || !metadata.channel_names.back().empty();
    }
    if (!named) metadata.channel_names.clear();
    return image;
}

}  // namespace convolume::io
