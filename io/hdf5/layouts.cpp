// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "io/formats.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/names.hpp"
#include "io/hdf5/series.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// ilastik's {"axes": [{"key": "z", …}, …]}; empty when there is nothing usable.
std::string axes_of_tags(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    std::string axes;
    if (!json.is_object() || !json.contains("axes") || !json["axes"].is_array()) return axes;
    for (const auto& axis : json["axes"]) {
        if (!axis.is_object() || !axis.contains("key") || !axis["key"].is_string()) return "";
        axes += axis["key"].get<std::string>();
    }
    return axes;
}

Hdf5Series plain_series(const Hdf5Source& source, const std::string& name,
                        const std::string& axes) {
    const Hdf5Dataset dataset(source.id, source.file, name);
    Hdf5Series series;
    ImageMetadata& metadata = series.metadata;
    metadata.format = "HDF5";
    metadata.type = dataset.type();
    metadata.text = text_attributes(dataset.id());
    std::string file_axes;
    if (const auto tags = metadata.text.find("axistags"); tags != metadata.text.end()) {
        file_axes = axes_of_tags(tags->second);
        metadata.text.erase(tags);
    }
    if (const auto unit = metadata.text.find("unit"); unit != metadata.text.end()) {
        metadata.unit = unit->second;
        metadata.text.erase(unit);
    }
    series.layout = axis_layout(dataset.dims(), file_axes, axes, dataset.full_name());
    set_extents(metadata, series.layout);
    series.datasets = {name};
    const std::vector<double> sizes = number_attribute(dataset.id(), "element_size_um");
    for (std::size_t axis = 0; axis < 3 && sizes.size() == 3; ++axis)
        if (sizes[axis] > 0) metadata.voxel_size_um[axis] = decimal_of_float(sizes[axis]);
    const std::vector<double> interval = number_attribute(dataset.id(), "frame_interval_s");
    const auto only = [&](const char* attribute) {
        const std::vector<double> values = number_attribute(dataset.id(), attribute);
        return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
    };
    metadata.scaling = usable_scaling(only("scale_factor"), only("add_offset"));
    if (interval.size() == 1 && interval[0] > 0) metadata.frame_interval_s = interval[0];
    return series;
}

/// The n-th of the values there are.
std::vector<index_t> ordered(const std::vector<PlacedDataset>& placed,
                             index_t PlacedDataset::*which) {
    std::set<index_t> values;
    for (const PlacedDataset& dataset : placed) values.insert(dataset.*which);
    return {values.begin(), values.end()};
}

}  // namespace

void place_datasets(const Hdf5Source& source, const std::vector<PlacedDataset>& placed,
                    Hdf5Series& series) {
    const std::vector<index_t> times = ordered(placed, &PlacedDataset::time);
    const std::vector<index_t> channels = ordered(placed, &PlacedDataset::channel);
    if (times.size() * channels.size() != placed.size())
        throw BadData(message(source.file.path(), " has ", placed.size(), " volumes for ",
                              times.size(), " times and ", channels.size(),
                              " channels; name one of them as ", source.file.path(), ":/",
                              placed.front().name));
    series.metadata.frames = static_cast<index_t>(times.size());
    series.metadata.channels = static_cast<index_t>(channels.size());
    series.datasets.assign(placed.size(), "");
    for (const PlacedDataset& dataset : placed) {
        const auto t = std::lower_bound(times.begin(), times.end(), dataset.time) - times.begin();
        const auto c =
            std::lower_bound(channels.begin(), channels.end(), dataset.channel) - channels.begin();
        series
            .datasets[static_cast<std::size_t>(t) * channels.size() + static_cast<std::size_t>(c)] =
            dataset.name;
    }
    const Hdf5Dataset first(source.id, source.file, series.datasets[0]);
    series.metadata.type = first.type();
    series.layout = axis_layout(first.dims(), "ZYX", "", first.full_name());
    if (series.layout.axes != "ZYX")
        throw BadData(
            message(first.full_name(), " is of shape ", dims_text(first.dims()), ", not z, y, x"));
    series.metadata.shape = {first.dims()[0], first.dims()[1], first.dims()[2]};
    for (const std::string& name : series.datasets) {
        const Hdf5Dataset dataset(source.id, source.file, name);
        if (dataset.dims() != first.dims() || dataset.type() != first.type())
            throw BadData(message(dataset.full_name(), " is ", dims_text(dataset.dims()), " ",
                                  to_string(dataset.type()), ", but ", first.full_name(), " is ",
                                  dims_text(first.dims()), " ", to_string(first.type()),
                                  "; name one of them"));
    }
    series.metadata.axes =
        std::string(times.size() > 1 ? "T" : "") + (channels.size() > 1 ? "C" : "") + "ZYX";
}

Hdf5Series find_series(const Hdf5Source& source, const std::string& dataset,
                       const std::string& axes) {
    std::vector<std::string> all;
    std::vector<std::string> candidates;
    if (dataset.empty()) {
        candidates = all = list_datasets(source);
    } else {
        candidates = {named_dataset(source, dataset)};
    }
    if (axes.empty()) {
        if (auto series = find_bdv(source, candidates)) return *std::move(series);
        if (auto series = find_imaris(source, candidates)) return *std::move(series);
    }
    return plain_series(source, dataset.empty() ? default_dataset(source, all) : candidates[0],
                        axes);
}

}  // namespace convolume::io
