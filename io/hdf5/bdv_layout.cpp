// SPDX-License-Identifier: Apache-2.0
// Layout of BigDataViewer: /t00000/s00/0/cells for each time, setup and level of a pyramid. An XML
// file of the same name, or the input itself, has voxel sizes and names of setups.

#include "io/hdf5/bdv_layout.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "convolume/error.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/format.hpp"
#include "io/hdf5/series.hpp"
#include "io/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr const char* bdv_volume = "t#/s#/#/cells";  // numbers: time, setup, level

/// Returns the name of the group of a setup, such as "s00".
std::string setup_group(int setup) {
    std::array<char, 20> name{};
    std::snprintf(name.data(), name.size(), "s%02d", setup);
    return name.data();
}

/// Returns the downsampling factors of `level` along x, y, z, from the table /s00/resolutions.
std::array<double, 3> level_factors(const Hdf5Source& source, int setup, index_t level) {
    const Hdf5Id dataset = source.files.open_object(setup_group(setup) + "/resolutions");
    const bool is_dataset = dataset && H5Iget_type(dataset.get()) == H5I_DATASET;
    const Hdf5Id space(is_dataset ? H5Dget_space(dataset.get()) : H5I_INVALID_HID, H5Sclose);
    std::array<hsize_t, 2> dims{};
    if (!space || H5Sget_simple_extent_ndims(space.get()) != 2) return {1, 1, 1};
    H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
    if (dims[0] > 100 || dims[1] != 3 || static_cast<hsize_t>(level) >= dims[0]) return {1, 1, 1};
    std::vector<double> factors(dims[0] * 3);
    if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, factors.data()) <
        0)
        return {1, 1, 1};
    const double* row = factors.data() + level * 3;
    return {row[0], row[1], row[2]};
}

/// Returns the type of samples of a setup. Until 2023 they were uint16, but stored as int16. Since
/// then an attribute has the type.
PixelType type_of_setup(const Hdf5Source& source, int setup, PixelType stored,
                        std::vector<std::string>& notes) {
    const Hdf5Id group = source.files.open_object(setup_group(setup));
    const auto named_type = group ? text_attribute(group.get(), "dataType") : std::nullopt;
    if (!named_type) return stored == PixelType::int16 ? PixelType::uint16 : stored;
    if (*named_type == "uint16" && stored == PixelType::int16) return PixelType::uint16;
    if (*named_type != to_string(stored))
        notes.push_back(message("/", setup_group(setup), " says that samples are ", *named_type,
                                ", but they are stored as ", to_string(stored),
                                ", as which they are read"));
    return stored;
}

void read_types(const Hdf5Source& source, const std::vector<int>& setups, Hdf5Series& series) {
    const PixelType stored = series.metadata.type;
    std::optional<PixelType> first;
    for (const int setup : setups) {
        const PixelType type = type_of_setup(source, setup, stored, series.metadata.notes);
        if (first && type != *first)
            throw BadData(message(source.files.main().path(), " has samples of ", to_string(*first),
                                  " in /", setup_group(setups[0]), " and of ", to_string(type),
                                  " in /", setup_group(setup), "; name one dataset"));
        first = type;
    }
    series.metadata.type = *first;
}

const BdvSetup* find_setup(const BdvXml& xml, int id) {
    for (const BdvSetup& setup : xml.setups)
        if (setup.id == id) return &setup;
    return nullptr;
}

/// Returns the names of setups: the names of their channels if all differ, else their own.
std::vector<std::string> setup_names(const BdvXml& xml, const std::vector<int>& setups) {
    std::vector<std::string> own;
    std::vector<std::string> channel_names;
    std::set<std::string> channels;
    for (const int id : setups) {
        const BdvSetup* const setup = find_setup(xml, id);
        if (setup == nullptr) return {};
        const auto channel = setup->attributes.find("channel");
        const auto name = channel == setup->attributes.end()
                              ? xml.channel_names.end()
                              : xml.channel_names.find(channel->second);
        // Programs without a name for a setup write its number.
        const std::string number = std::to_string(id);
        const bool is_number = setup->name == number || setup->name == "setup " + number;
        own.push_back(is_number ? "" : setup->name);
        if (name == xml.channel_names.end()) continue;
        channels.insert(channel->second);
        channel_names.push_back(name->second == name->first ? "" : name->second);
    }
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    const bool use_channels = channels.size() == setups.size() &&
                              std::none_of(channel_names.begin(), channel_names.end(), is_empty);
    if (use_channels) return channel_names;
    return std::all_of(own.begin(), own.end(), is_empty) ? std::vector<std::string>{} : own;
}

/// Adds a note if setups are views of different angles, tiles or illuminations instead of channels.
void note_views(const BdvXml& xml, const std::vector<int>& setups, ImageMetadata& metadata) {
    for (const char* kind : {"angle", "tile", "illumination"}) {
        std::set<std::string> values;
        for (const int id : setups)
            if (const BdvSetup* const setup = find_setup(xml, id))
                if (const auto value = setup->attributes.find(kind);
                    value != setup->attributes.end())
                    values.insert(value->second);
        if (values.size() > 1)
            metadata.notes.push_back(message("the setups differ in their ", kind, ": ",
                                             values.size(), " views are read as channels"));
    }
}

void read_voxel_size(const Hdf5Source& source, const BdvXml& xml, const std::vector<int>& setups,
                     index_t level, ImageMetadata& metadata) {
    const BdvSetup* const first = find_setup(xml, setups[0]);
    if (first == nullptr || first->unit.empty()) return;
    metadata.unit = first->unit;
    const std::array<double, 3> factors = level_factors(source, setups[0], level);
    for (std::size_t i = 0; i < 3; ++i)
        if (first->size_um[i] > 0 && factors[i] > 0)
            metadata.voxel_size_um[2 - i] = first->size_um[i] * factors[i];
    for (const int id : setups) {
        const BdvSetup* const setup = find_setup(xml, id);
        if (setup == nullptr || setup->size_um == first->size_um) continue;
        metadata.notes.push_back(message("setup ", id, " has another voxel size than setup ",
                                         setups[0], ", which is taken"));
        return;
    }
}

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

std::filesystem::path resolved(const std::filesystem::path& folder, const BdvPath& path) {
    return path.absolute ? std::filesystem::path(path.path) : folder / path.path;
}

/// Reads a file. Returns nothing if it does not exist or is not BigDataViewer's XML.
std::optional<BdvXml> load_bdv_xml(const std::string& path) {
    pugi::xml_document document;
    if (!document.load_file(path.c_str())) return std::nullopt;
    return read_bdv_xml(document);
}

}  // namespace

bool is_bdv_table(const std::string& name) {
    return parse_numbered_name(name, "s#/resolutions", "C") ||
           parse_numbered_name(name, "s#/subdivisions", "C");
}

bool is_of_bdv(const std::string& name) {
    return parse_numbered_name(name, bdv_volume, "TCL") || is_bdv_table(name);
}

std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets) {
    const std::vector<NumberedDataset> placed = find_numbered(datasets, bdv_volume, "TCL");
    if (placed.empty()) return std::nullopt;
    std::set<int> setups;
    for (const NumberedDataset& volume : placed) setups.insert(static_cast<int>(volume.channel));
    const std::vector<int> ids(setups.begin(), setups.end());
    Hdf5Series series;
    arrange_datasets(source, placed, series);
    ImageMetadata& metadata = series.metadata;
    metadata.format = "BigDataViewer HDF5";
    read_types(source, ids, series);
    if (const auto xml = load_bdv_xml(source.bdv_xml)) {
        read_voxel_size(source, *xml, ids, placed.back().level, metadata);
        metadata.channel_names = setup_names(*xml, ids);
        note_views(*xml, ids, metadata);
    }
    return series;
}

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

std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions& options) {
    const RawFile file(spec.file);
    const std::string text = file.head(file.size());
    file.check_unchanged();
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed)
        throw BadData(message(spec.file,
                              " is an XML file that cannot be read: ", parsed.description(),
                              " at byte ", parsed.offset, "; it is damaged, copy it again"));
    const auto xml = read_bdv_xml(document);
    if (!xml)
        throw BadData(message(spec.file, " is an XML file of the kind <",
                              document.document_element().name(),
                              ">, which describes no image that can be read; give the path of the "
                              "image file, or of BigDataViewer's XML (<SpimData>)"));
    if (xml->hdf5.path.empty() || xml->loader != "bdv.hdf5")
        throw BadData(message(spec.file, " describes images of the format \"", xml->loader,
                              "\", which cannot be read; in Fiji, resave them as HDF5 (BigStitcher "
                              "or Multiview Reconstruction, Resave as HDF5)"));
    const std::filesystem::path folder = std::filesystem::path(spec.file).parent_path();
    const std::string hdf5 =
        (resolved(resolved(folder, xml->base), xml->hdf5)).lexically_normal().string();
    if (!std::filesystem::exists(hdf5))
        throw InputNotFound(message(spec.file, " says that its pixels are in ", hdf5,
                                    ", which does not exist; copy both files"));
    return open_hdf5({hdf5, spec.dataset}, options, spec.file);
}

}  // namespace convolume::io
