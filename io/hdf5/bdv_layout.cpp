// SPDX-License-Identifier: Apache-2.0
// BigDataViewer: /t00000/s00/0/cells for each time, setup and level of a pyramid; int16 that means
// uint16. Voxel sizes stand in the XML file of the same name.

#include <cstdio>
#include <filesystem>
#include <pugixml.hpp>

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

/// Factors of that level in x, y, z: /s00/resolutions.
std::array<double, 3> level_factors(hid_t file, int setup, int level) {
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), "s%02d/resolutions", setup);
    const Hdf5Id dataset(H5Dopen2(file, name.data(), H5P_DEFAULT), H5Dclose);
    const Hdf5Id space(dataset ? H5Dget_space(dataset.get()) : H5I_INVALID_HID, H5Sclose);
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

void read_voxel_size(const Hdf5Source& source, const BdvName& name, ImageMetadata& metadata) {
    pugi::xml_document document;
    const std::string path =
        std::filesystem::path(source.file.path()).replace_extension(".xml").string();
    if (!document.load_file(path.c_str())) return;
    const auto voxel = bdv_voxel(document, name.setup);
    if (!voxel) return;
    const std::array<double, 3> factors = level_factors(source.id, name.setup, name.level);
    metadata.unit = voxel->unit;
    for (std::size_t i = 0; i < 3; ++i)
        if (voxel->size_um[i] > 0 && factors[i] > 0)
            metadata.voxel_size_um[2 - i] = voxel->size_um[i] * factors[i];
}

}  // namespace

std::optional<Hdf5Series> find_bdv(const Hdf5Source& source,
                                   const std::vector<std::string>& datasets) {
    std::vector<PlacedDataset> placed;
    std::optional<BdvName> first;
    for (const std::string& name : datasets) {
        const auto parts = parse_bdv_name(name);
        // Levels above 0 are smaller copies: read when one is asked for.
        if (!parts || (parts->level > 0 && datasets.size() > 1)) continue;
        placed.push_back({parts->time, parts->setup, name});
        if (!first || parts->setup < first->setup) first = parts;
    }
    if (placed.empty()) return std::nullopt;
    Hdf5Series series;
    place_datasets(source, placed, series);
    series.metadata.format = "BigDataViewer HDF5";
    if (series.metadata.type == PixelType::int16) series.metadata.type = PixelType::uint16;
    read_voxel_size(source, *first, series.metadata);
    return series;
}

}  // namespace convolume::io
