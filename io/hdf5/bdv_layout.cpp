// SPDX-License-Identifier: Apache-2.0
// BigDataViewer: /t00000/s00/0/cells for each time, setup and level of a pyramid. Voxel sizes and
// names of setups are in the XML file of the same name.

#include <algorithm>
#include <cstdio>
#include <set>

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/bdv_xml.hpp"
#include "io/hdf5/series.hpp"

namespace convolume::io {
namespace {

struct BdvName {
    int time = 0;
    int setup = 0;
    int level = 0;
};

std::optional<BdvName> parse_bdv_name(const std::string& name) {
    BdvName parts;
    int length = -1;
    if (std::sscanf(name.c_str(), "t%9d/s%9d/%9d/cells%n", &parts.time, &parts.setup, &parts.level,
                    &length) != 3 ||
        length != static_cast<int>(name.size()) || parts.time < 0 || parts.setup < 0 ||
        parts.level < 0)
        return std::nullopt;
    return parts;
}

/// "s00", the group of a setup.
std::string setup_group(int setup) {
    std::array<char, 20> name{};
    std::snprintf(name.data(), name.size(), "s%02d", setup);
    return name.data();
}

/// Factors of that level in x, y, z: /s00/resolutions.
std::array<double, 3> level_factors(const Hdf5Source& source, int setup, int level) {
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

/// Returns the type of that setup's samples. Until 2023 they were uint16, stored as int16; since
/// then an attribute says it.
PixelType type_of_setup(const Hdf5Source& source, int setup, PixelType stored,
                        std::vector<std::string>& notes) {
    const Hdf5Id group = source.files.open_object(setup_group(setup));
    const auto said = group ? text_attribute(group.get(), "dataType") : std::nullopt;
    if (!said) return stored == PixelType::int16 ? PixelType::uint16 : stored;
    if (*said == "uint16" && stored == PixelType::int16) return PixelType::uint16;
    if (*said != to_string(stored))
        notes.push_back(message("/", setup_group(setup), " says that samples are ", *said,
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

const BdvSetup* setup_in(const BdvXml& xml, int id) {
    for (const BdvSetup& setup : xml.setups)
        if (setup.id == id) return &setup;
    return nullptr;
}

/// Names of the setups: those of their channels, if every setup has another one, else their own.
std::vector<std::string> setup_names(const BdvXml& xml, const std::vector<int>& setups) {
    std::vector<std::string> own;
    std::vector<std::string> of_channels;
    std::set<std::string> channels;
    for (const int id : setups) {
        const BdvSetup* const setup = setup_in(xml, id);
        if (setup == nullptr) return {};
        const auto channel = setup->attributes.find("channel");
        const auto name = channel == setup->attributes.end()
                              ? xml.channel_names.end()
                              : xml.channel_names.find(channel->second);
        // Programs that know no name write the number.
        const std::string number = std::to_string(id);
        const bool is_number = setup->name == number || setup->name == "setup " + number;
        own.push_back(is_number ? "" : setup->name);
        if (name == xml.channel_names.end()) continue;
        channels.insert(channel->second);
        of_channels.push_back(name->second == name->first ? "" : name->second);
    }
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    const bool use_channels = channels.size() == setups.size() &&
                              std::none_of(of_channels.begin(), of_channels.end(), is_empty);
    if (use_channels) return of_channels;
    return std::all_of(own.begin(), own.end(), is_empty) ? std::vector<std::string>{} : own;
}

/// Says that setups are not channels of one image.
void note_views(const BdvXml& xml, const std::vector<int>& setups, ImageMetadata& metadata) {
    for (const char* kind : {"angle", "tile", "illumination"}) {
        std::set<std::string> values;
        for (const int id : setups)
            if (const BdvSetup* const setup = setup_in(xml, id))
                if (const auto value = setup->attributes.find(kind);
                    value != setup->attributes.end())
                    values.insert(value->second);
        if (values.size() > 1)
            metadata.notes.push_back(message("the setups differ in their ", kind, ": ",
                                             values.size(), " views are read as channels"));
    }
}

void read_voxel_size(const Hdf5Source& source, const BdvXml& xml, const std::vector<int>& setups,
                     int level, ImageMetadata& metadata) {
    const BdvSetup* const first = setup_in(xml, setups[0]);
    if (first == nullptr || first->unit.empty()) return;
    metadata.unit = first->unit;
    const std::array<double, 3> factors = level_factors(source, setups[0], level);
    for (std::size_t i = 0; i < 3; ++i)
        if (first->size_um[i] > 0 && factors[i] > 0)
            metadata.voxel_size_um[2 - i] = first->size_um[i] * factors[i];
    for (const int id : setups) {
        const BdvSetup* const setup = setup_in(xml, id);
        if (setup == nullptr || setup->size_um == first->size_um) continue;
        metadata.notes.push_back(message("setup ", id, " has another voxel size than setup ",
                                         setups[0], ", which is taken"));
        return;
    }
}

}  // namespace

bool is_bdv_table(const std::string& name) {
    int setup = 0;
    for (const char* pattern : {"s%9d/resolutions%n", "s%9d/subdivisions%n"}) {
        int length = -1;
        if (std::sscanf(name.c_str(), pattern, &setup, &length) == 1 &&
            length == static_cast<int>(name.size()))
            return true;
    }
    return false;
}

bool is_of_bdv(const std::string& name) {
    return parse_bdv_name(name) || is_bdv_table(name);
}

std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets) {
    std::vector<PlacedDataset> placed;
    std::set<int> setups;
    int level = 0;
    for (const std::string& name : datasets) {
        const auto parts = parse_bdv_name(name);
        // Levels above 0 are smaller copies: read when one is asked for.
        if (!parts || (parts->level > 0 && datasets.size() > 1)) continue;
        placed.push_back({parts->time, parts->setup, name});
        setups.insert(parts->setup);
        level = parts->level;
    }
    if (placed.empty()) return std::nullopt;
    const std::vector<int> ids(setups.begin(), setups.end());
    Hdf5Series series;
    place_datasets(source, placed, series);
    ImageMetadata& metadata = series.metadata;
    metadata.format = "BigDataViewer HDF5";
    read_types(source, ids, series);
    if (const auto xml = load_bdv_xml(source.bdv_xml)) {
        read_voxel_size(source, *xml, ids, level, metadata);
        metadata.channel_names = setup_names(*xml, ids);
        note_views(*xml, ids, metadata);
    }
    return series;
}

}  // namespace convolume::io
