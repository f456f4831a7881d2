// SPDX-License-Identifier: Apache-2.0
// Imaris: /DataSet/ResolutionLevel 0/TimePoint t/Channel c/Data, padded to whole chunks; sizes are
// texts in attributes.

#include <cmath>
#include <cstdio>
#include <sstream>

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/series.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

struct ImarisName {
    int level = 0;
    int time = 0;
    int channel = 0;
};

std::optional<ImarisName> parse_imaris_name(const std::string& name) {
    ImarisName parts;
    int length = -1;
    if (std::sscanf(name.c_str(), "DataSet/ResolutionLevel %9d/TimePoint %9d/Channel %9d/Data%n",
                    &parts.level, &parts.time, &parts.channel, &length) != 3 ||
        length != static_cast<int>(name.size()) || parts.level < 0 || parts.time < 0 ||
        parts.channel < 0)
        return std::nullopt;
    return parts;
}

double number_at(hid_t file, const std::string& path, const std::string& name) {
    const auto text = text_attribute_at(file, path, name);
    return text ? parse_number(*text).value_or(0) : 0;
}

/// The dataset's shape without its padding.
void crop(const Hdf5Source& source, const std::string& dataset, ImageMetadata& metadata) {
    const std::string group = dataset.substr(0, dataset.rfind('/'));
    constexpr const char* names[] = {"ImageSizeZ", "ImageSizeY", "ImageSizeX"};
    for (int axis = 0; axis < 3; ++axis) {
        const double size = number_at(source.id, group, names[axis]);
        if (size >= 1 && size < static_cast<double>(metadata.shape[axis]))
            metadata.shape[axis] = static_cast<index_t>(size);
    }
}

void read_calibration(const Hdf5Source& source, ImageMetadata& metadata) {
    const std::string image = "DataSetInfo/Image";
    metadata.unit = text_attribute_at(source.id, image, "Unit").value_or("um");
    const auto micrometers = micrometers_per(metadata.unit);
    for (int axis = 0; axis < 3 && micrometers; ++axis) {
        const std::string digit(1, static_cast<char>('2' - axis));
        const double extent = number_at(source.id, image, "ExtMax" + digit) -
                              number_at(source.id, image, "ExtMin" + digit);
        if (extent > 0)
            metadata.voxel_size_um[static_cast<std::size_t>(axis)] =
                extent * *micrometers / static_cast<double>(metadata.shape[axis]);
    }
}

/// "1.000 0.500 0.000": red, green, blue.
std::optional<std::uint32_t> color_of(const std::string& text) {
    std::istringstream numbers(text);
    std::uint32_t color = 0;
    for (int i = 0; i < 3; ++i) {
        double part = -1;
        if (!(numbers >> part) || !(part >= 0 && part <= 1)) return std::nullopt;
        color = color << 8 | static_cast<std::uint32_t>(std::lround(255 * part));
    }
    return color;
}

}  // namespace

std::optional<Hdf5Series> find_imaris(const Hdf5Source& source,
                                      const std::vector<std::string>& datasets) {
    std::vector<PlacedDataset> placed;
    for (const std::string& name : datasets) {
        const auto parts = parse_imaris_name(name);
        // Levels above 0 are smaller copies: read when one is asked for.
        if (!parts || (parts->level > 0 && datasets.size() > 1)) continue;
        placed.push_back({parts->time, parts->channel, name});
    }
    if (placed.empty()) return std::nullopt;
    Hdf5Series series;
    place_datasets(source, placed, series);
    ImageMetadata& metadata = series.metadata;
    metadata.format = "Imaris HDF5";
    crop(source, series.datasets[0], metadata);
    read_calibration(source, metadata);
    bool named = false;
    for (index_t c = 0; c < metadata.channels; ++c) {
        const auto number =
            parse_imaris_name(series.datasets[static_cast<std::size_t>(c)])->channel;
        const std::string group = "DataSetInfo/Channel " + std::to_string(number);
        metadata.channel_names.push_back(text_attribute_at(source.id, group, "Name").value_or(""));
        named = named || !metadata.channel_names.back().empty();
        metadata.channel_colors.push_back(
            color_of(text_attribute_at(source.id, group, "Color").value_or("")));
    }
    if (!named) metadata.channel_names.clear();
    return series;
}

}  // namespace convolume::io
