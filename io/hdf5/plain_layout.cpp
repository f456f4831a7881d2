// SPDX-License-Identifier: Apache-2.0
// One dataset that is the image, with the attributes of h5py, ilastik, Fiji's plug-in and netCDF.

#include "io/formats.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/dimensions.hpp"
#include "io/hdf5/series.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Takes the text of that name out of metadata.text; empty if there is none.
std::string take_text(ImageMetadata& metadata, const std::string& name) {
    auto text = metadata.text.extract(name);
    return text ? std::move(text.mapped()) : "";
}

/// Voxel sizes of axes that have none yet.
void take_sizes(const Hdf5Dimensions& dimensions, const AxisLayout& layout,
                ImageMetadata& metadata) {
    // Leading dimensions of 1 come and go.
    const std::size_t rank = dimensions.all.size();
    for (std::size_t i = 0; i < layout.axes.size(); ++i) {
        const auto axis = std::string("ZYX").find(layout.axes[i]);
        if (axis == std::string::npos || i + rank < layout.axes.size()) continue;
        const auto& size_um = dimensions.all[i + rank - layout.axes.size()].size_um;
        if (size_um && !metadata.voxel_size_um[axis]) metadata.voxel_size_um[axis] = *size_um;
    }
}

}  // namespace

void read_attributes(const Hdf5Dataset& dataset, ImageMetadata& metadata) {
    metadata.text = text_attributes(dataset.id());
    metadata.unit = take_text(metadata, "unit");
    const std::vector<double> sizes = number_attribute(dataset.id(), "element_size_um");
    for (std::size_t axis = 0; axis < 3 && sizes.size() == 3; ++axis)
        if (sizes[axis] > 0) metadata.voxel_size_um[axis] = decimal_of_float(sizes[axis]);
    const auto only = [&](const char* attribute) {
        const std::vector<double> values = number_attribute(dataset.id(), attribute);
        return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
    };
    metadata.scaling = usable_scaling(only("scale_factor"), only("add_offset"));
    const auto interval = only("frame_interval_s");
    if (interval && *interval > 0) metadata.frame_interval_s = interval;
    metadata.channel_names = text_list_attribute(dataset.id(), "channel_names");
    metadata.text.erase("channel_names");
}

Hdf5Series plain_series(const Hdf5Source& source, const std::string& name,
                        const std::string& axes) {
    const Hdf5Dataset dataset(source.files, name);
    Hdf5Series series;
    series.datasets = {name};
    ImageMetadata& metadata = series.metadata;
    metadata.format = "HDF5";
    metadata.type = dataset.type();
    read_attributes(dataset, metadata);
    const std::string axistags = take_text(metadata, "axistags");
    Hdf5Dimensions dimensions =
        read_dimensions(dataset, axistags, take_text(metadata, "axis_units"));
    const std::string file_axes = axes.empty() ? labelled_axes(dimensions, dataset) : "";
    series.layout = axis_layout(dataset.dims(), file_axes, axes, dataset.full_name());
    set_extents(metadata, series.layout);
    const bool has_sizes =
        metadata.voxel_size_um[0] && metadata.voxel_size_um[1] && metadata.voxel_size_um[2];
    metadata.notes = dimensions.notes;
    if (!has_sizes) {
        take_sizes(dimensions, series.layout, metadata);
        metadata.notes.insert(metadata.notes.end(), dimensions.size_notes.begin(),
                              dimensions.size_notes.end());
    }
    if (series.layout.assumed && series.layout.axes.size() > 3)
        metadata.notes.push_back(message("the axes ", series.layout.axes, " are assumed, since ",
                                         dataset.full_name(),
                                         " does not name its dimensions; --axes decides"));
    if (static_cast<index_t>(metadata.channel_names.size()) != metadata.channels)
        metadata.channel_names.clear();
    return series;
}

}  // namespace convolume::io
