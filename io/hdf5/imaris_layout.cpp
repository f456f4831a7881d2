// SPDX-License-Identifier: Apache-2.0
// Layout of Imaris: /DataSet/ResolutionLevel 0/TimePoint t/Channel c/Data, padded to whole HDF5
// chunks. Sizes are texts in attributes.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/series.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr const char* imaris_volume = "DataSet/ResolutionLevel #/TimePoint #/Channel #/Data";
const std::string image_group = "DataSetInfo/Image";
constexpr double size_rounding = 1e-12;  // relative rounding error of extents divided by sizes

std::string text_at(const Hdf5Source& source, const std::string& path, const std::string& name) {
    const Hdf5Id object = source.files.open_object(path);
    return object ? text_attribute(object.get(), name).value_or("") : "";
}

double number_at(const Hdf5Source& source, const std::string& path, const std::string& name) {
    return parse_number(text_at(source, path, name)).value_or(0);
}

/// Sets the shape without the padding of the dataset. The size is in attributes of the dataset's
/// group. For the first level of the pyramid, it is also in the group of the whole image.
void remove_padding(const Hdf5Source& source, const std::string& dataset, index_t level,
                    ImageMetadata& metadata) {
    const std::string group = dataset.substr(0, dataset.rfind('/'));
    bool unknown = false;
    for (int axis = 0; axis < 3; ++axis) {
        const std::string letter(1, "ZYX"[axis]);
        const double of_group = number_at(source, group, "ImageSize" + letter);
        const double of_image = level == 0 ? number_at(source, image_group, letter) : 0;
        const double size = of_group >= 1 ? of_group : of_image;
        const auto stored = static_cast<double>(metadata.shape[axis]);
        unknown = unknown || size < 1;
        if (of_group >= 1 && of_image >= 1 && of_group != of_image)
            metadata.notes.push_back(message("ImageSize", letter, " of /", group, " is ",
                                             number_text(of_group), ", but ", letter, " of /",
                                             image_group, " is ", number_text(of_image), ": ",
                                             number_text(std::min(of_group, stored)), " is taken"));
        else if (size > stored)
            metadata.notes.push_back(message("/", dataset, " holds ", number_text(stored),
                                             " samples along ", letter,
                                             ", but the image is said "
                                             "to have ",
                                             number_text(size)));
        if (size >= 1 && size < stored) metadata.shape[axis] = static_cast<index_t>(size);
    }
    if (unknown)
        metadata.notes.push_back(message("the size of /", dataset,
                                         " without its padding is not in the file: --crop can cut "
                                         "it off"));
}

void read_calibration(const Hdf5Source& source, ImageMetadata& metadata) {
    const std::string unit = text_at(source, image_group, "Unit");
    metadata.unit = unit.empty() ? "um" : unit;
    const auto micrometers = micrometers_per(metadata.unit);
    for (int axis = 0; axis < 3 && micrometers; ++axis) {
        const std::string digit(1, static_cast<char>('2' - axis));
        const double extent = number_at(source, image_group, "ExtMax" + digit) -
                              number_at(source, image_group, "ExtMin" + digit);
        if (extent > 0)
            metadata.voxel_size_um[static_cast<std::size_t>(axis)] = near_decimal(
                extent * *micrometers / static_cast<double>(metadata.shape[axis]), size_rounding);
    }
}

/// Parses a color such as "1.000 0.500 0.000": red, green, blue.
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

bool is_of_imaris(const std::string& name) {
    return name.starts_with("DataSet/") || name.starts_with("DataSetTimes/") ||
           name.starts_with("DataSetInfo/") || name.starts_with("Thumbnail/");
}

std::optional<Hdf5Series> find_imaris(const Hdf5Source& source,
                                      const std::vector<std::string>& datasets) {
    const std::vector<NumberedDataset> placed = find_numbered(datasets, imaris_volume, "LTC");
    if (placed.empty()) return std::nullopt;
    Hdf5Series series;
    arrange_datasets(source, placed, series);
    ImageMetadata& metadata = series.metadata;
    metadata.format = "Imaris HDF5";
    remove_padding(source, series.datasets[0], placed.back().level, metadata);
    read_calibration(source, metadata);
    bool named = false;
    for (index_t c = 0; c < metadata.channels; ++c) {
        const std::string& dataset = series.datasets[static_cast<std::size_t>(c)];
        const index_t number = parse_numbered_name(dataset, imaris_volume, "LTC")->channel;
        const std::string group = "DataSetInfo/Channel " + std::to_string(number);
        metadata.channel_names.push_back(text_at(source, group, "Name"));
        named = named || !metadata.channel_names.back().empty();
        metadata.channel_colors.push_back(color_of(text_at(source, group, "Color")));
    }
    if (!named) metadata.channel_names.clear();
    return series;
}

}  // namespace convolume::io
