// SPDX-License-Identifier: Apache-2.0
#include "io/ome/document.hpp"

#include <algorithm>
#include <filesystem>
#include <pugixml.hpp>
#include <set>
#include <string_view>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "core/text.hpp"
#include "io/image_file.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

// Returns the name of an element without a namespace prefix, as in <OME:Image>.
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

std::vector<pugi::xml_node> children(const pugi::xml_node& parent, std::string_view name) {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node& node : parent.children())
        if (local_name(node) == name) found.push_back(node);
    return found;
}

/// Returns an attribute as a whole number, else `otherwise`.
index_t whole_number(const pugi::xml_node& node, const char* name, index_t otherwise) {
    return number_in<index_t>(node.attribute(name).value()).value_or(otherwise);
}

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
    for (const pugi::xml_node& data : children(pixels, "TiffData"))
        image.planes.push_back(planes_of(data));
    return image;
}

}  // namespace

OmeDocument::OmeDocument(const std::string& xml, const std::string& path)
    : path_(path),
      // Old programs wrote the sign µ as one byte, whatever encoding they declared.
      text_(utf8_text(xml)),
      document_(std::make_unique<pugi::xml_document>()) {
    const pugi::xml_parse_result parsed = document_->load_string(text_.c_str());
    if (!parsed)
        throw BadData(message("the OME-XML of ", path, " cannot be read (", parsed.description(),
                              "); save the file again"));
    const pugi::xml_node root = document_->document_element();
    uuid_ = root.attribute("UUID").value();
    companion_ = child(root, "BinaryOnly").attribute("MetadataFile").value();
    for (const pugi::xml_node& node : children(root, "Image")) images_.push_back(image_of(node));
    if (images_.empty() && companion_.empty())
        throw BadData(message("the OME-XML of ", path, " describes no image; save the file again"));
}

OmeDocument::~OmeDocument() = default;

bool names_several_files(const std::string& ome_xml, const std::string& path) {
    const OmeDocument document(ome_xml, path);
    std::set<std::string> names;
    for (const OmeImage& image : document.images())
        for (const OmePlanes& planes : image.planes)
            if (!planes.file.empty()) names.insert(planes.file);
    return names.size() > 1;
}

pugi::xml_node OmeDocument::image_node(index_t image) const {
    index_t number = 0;
    for (const pugi::xml_node& node : document_->document_element().children())
        if (local_name(node) == "Image" && number++ == image) return node;
    throw InternalError("an image of an OME-XML document beyond its last one");
}

namespace {

std::optional<double> positive(const pugi::xml_node& node, const char* name) {
    const auto value = parse_number(node.attribute(name).value());
    return value && *value > 0 ? value : std::nullopt;
}

/// Returns a positive length in µm. Its unit is an attribute of its own, with OME's default.
std::optional<double> positive_um(const pugi::xml_node& node, const std::string& name,
                                  const char* default_unit) {
    const auto value = positive(node, name.c_str());
    const auto micrometers =
        micrometers_per(node.attribute((name + "Unit").c_str()).as_string(default_unit));
    if (!value || !micrometers) return std::nullopt;
    return *value * *micrometers;
}

/// Returns a voxel size in µm, and sets `unit` to its unit.
std::optional<double> voxel_size(const pugi::xml_node& pixels, const std::string& name,
                                 std::string& unit) {
    const auto size = positive_um(pixels, name, "µm");
    if (size) unit = pixels.attribute((name + "Unit").c_str()).as_string("µm");
    return size;
}

void read_calibration(const pugi::xml_node& pixels, ImageMetadata& metadata) {
    metadata.voxel_size_um = {voxel_size(pixels, "PhysicalSizeZ", metadata.unit),
                              voxel_size(pixels, "PhysicalSizeY", metadata.unit),
                              voxel_size(pixels, "PhysicalSizeX", metadata.unit)};
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

/// Returns the objective that the settings of the image refer to, or the only one in the document.
pugi::xml_node objective_of(const pugi::xml_node& root, const pugi::xml_node& settings) {
    const std::string_view id = settings.attribute("ID").value();
    pugi::xml_node only;
    int count = 0;
    for (const pugi::xml_node& instrument : children(root, "Instrument")) {
        for (const pugi::xml_node& objective : children(instrument, "Objective")) {
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
    for (const pugi::xml_node& channel : children(pixels, "Channel")) {
        microscope.channels.push_back({positive_um(channel, "EmissionWavelength", "nm"),
                                       positive_um(channel, "ExcitationWavelength", "nm"),
                                       positive_um(channel, "PinholeSize", "µm"),
                                       channel.attribute("AcquisitionMode").value()});
    }
}

/// Returns the color of a channel. OME stores red, green, blue and alpha as a signed number of 32
/// bits. Its default, -1, is white and means that no color is set.
std::optional<std::uint32_t> color_of(const pugi::xml_node& channel) {
    const index_t color = whole_number(channel, "Color", -1);
    if (color == -1 || color < INT32_MIN || color > INT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(color) >> 8;
}

void read_channels(const pugi::xml_node& pixels, ImageMetadata& metadata) {
    bool named = false;
    for (const pugi::xml_node& channel : children(pixels, "Channel")) {
        metadata.channel_colors.push_back(color_of(channel));
        metadata.channel_names.emplace_back(channel.attribute("Name").value());
        named = named || !metadata.channel_names.back().empty();
    }
    if (!named) metadata.channel_names.clear();
}

/// Returns the document as text, without images other than `image`.
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

namespace {

/// Limit of the size of a document. Documents of whole plates have some tens of MB.
constexpr index_t largest_document_bytes = index_t{1} << 30;

}  // namespace

std::string base_name(const std::string& path) {
    return path.substr(path.find_last_of("/\\") + 1);
}

std::unique_ptr<OmeDocument> read_ome_file(const RawFile& file) {
    if (file.size() > largest_document_bytes)
        throw BadData(message(file.path(), " has ", file.size(),
                              " bytes, too many for a document of OME-XML; give the TIFF itself"));
    auto document = std::make_unique<OmeDocument>(file.head(file.size()), file.path());
    if (!document->companion().empty())
        throw BadData(message(file.path(), " refers to another document, ", document->companion(),
                              "; give that one"));
    return document;
}

std::unique_ptr<OmeDocument> read_ome_companion(const std::string& path, const std::string& name) {
    const std::string base = base_name(name);
    const std::filesystem::path companion = std::filesystem::path(path).parent_path() / base;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(companion, ignored))
        throw BadData(message(path, " is one part of a set whose OME-XML is in ", base,
                              ", which is not in its folder; copy the whole set to one folder"));
    return read_ome_file(RawFile(companion.string()));
}

std::string first_file_of(const OmeDocument& document, const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    std::string missing;
    for (const OmeImage& image : document.images())
        for (const OmePlanes& planes : image.planes) {
            const auto file = folder / base_name(planes.file);
            if (!planes.file.empty() && std::filesystem::is_regular_file(file, ignored))
                return file.string();
            missing = planes.file;
        }
    throw BadData(message(path, " describes files, and none of them is in its folder",
                          missing.empty() ? "" : ", such as " + missing,
                          "; copy the whole set to one folder"));
}

}  // namespace convolume::io
