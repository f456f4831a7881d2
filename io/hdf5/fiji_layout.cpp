// SPDX-License-Identifier: Apache-2.0
// Layout of Fiji's HDF5 plug-in: /t0/channel0, /t0/channel1, … for each time and channel. The
// dataset of a single plane has two dimensions.

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/series.hpp"

namespace convolume::io {
namespace {

/// Returns the axes of an RGB image, whose last dimension is three colors; "" for other images.
std::string axes_of_colors(const Hdf5Dataset& dataset) {
    const std::size_t rank = dataset.dims().size();
    const bool colors =
        dataset.type() == PixelType::uint8 && rank >= 3 && rank <= 4 && dataset.dims().back() == 3;
    return !colors ? "" : rank == 4 ? "ZYXC" : "YXC";
}

/// Adds a note if a dataset has another voxel size than the first one.
void compare_sizes(const Hdf5Source& source, Hdf5Series& series) {
    std::vector<double> first;
    for (const std::string& name : series.datasets) {
        const Hdf5Id dataset = source.files.open_object(name);
        const std::vector<double> sizes = number_attribute(dataset.get(), "element_size_um");
        if (&name == &series.datasets.front()) first = sizes;
        if (sizes == first) continue;
        series.metadata.notes.push_back(message("/", name, " has another element_size_um than /",
                                                series.datasets.front(), ", which is taken"));
        return;
    }
}

}  // namespace

std::optional<Hdf5Series> find_fiji(const Hdf5Source& source,
                                    const std::vector<std::string>& datasets) {
    const std::vector<NumberedDataset> placed = find_numbered(datasets, "t#/channel#", "TC");
    if (placed.empty() || is_pixel_array(source, "data", 2)) return std::nullopt;
    const Hdf5Dataset first(source.files, placed.front().name);
    const std::string colors = axes_of_colors(first);
    Hdf5Series series;
    if (placed.size() == 1) {
        series = plain_series(source, placed.front().name, colors);
    } else {
        arrange_datasets(source, placed, series);
        series.metadata.format = "Fiji HDF5";
        read_attributes(first, series.metadata);
        series.metadata.channel_names.clear();
        compare_sizes(source, series);
    }
    if (!colors.empty())
        series.metadata.notes.push_back(
            message("the last dimension of ", first.full_name(), ", 3, is ",
                    placed.size() == 1 ? "taken for" : "not taken for",
                    " the colors of an RGB image; --axes decides for a dataset that is named"));
    return series;
}

}  // namespace convolume::io
