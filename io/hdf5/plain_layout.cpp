// SPDX-License-Identifier: Apache-2.0
// An image in one dataset, with the attributes of h5py, ilastik, Fiji's plug-in and netCDF.
// Dimensions are named by axistags of ilastik, labels of h5py or dimension scales. Such a scale is
// a dataset with the coordinates along a dimension of others (in HDF5 and netCDF).

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/dataset.hpp"
#include "io/hdf5/series.hpp"
#include "io/image_file.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Name, unit and step of the dimension scale that belongs to a dimension.
struct DimensionScale {
    std::string name;            ///< last component of the scale's name; empty if there is no scale
    std::string unit;            ///< value of the attribute `units`; may be empty
    std::optional<double> step;  ///< distance of neighbors if the coordinates are evenly spaced
};

constexpr hsize_t most_coordinates = 1 << 20;
/// Relative tolerance for uneven distances: coordinates in single precision are rounded.
constexpr double spacing_tolerance = 1e-3;
constexpr double step_rounding = 1e-7;

/// Returns the distance of neighbors if all distances are equal within `spacing_tolerance`.
std::optional<double> step_of(const std::vector<double>& coordinates) {
    const auto intervals = static_cast<double>(coordinates.size()) - 1;
    if (intervals < 1) return std::nullopt;
    const double step = (coordinates.back() - coordinates.front()) / intervals;
    if (!std::isfinite(step) || step == 0) return std::nullopt;
    for (std::size_t i = 1; i < coordinates.size(); ++i)
        if (!(std::abs(coordinates[i] - coordinates[i - 1] - step) <=
              spacing_tolerance * std::abs(step)))
            return std::nullopt;
    return std::abs(step);
}

std::optional<double> read_step(hid_t scale, hsize_t extent) {
    const Hdf5Id type(H5Dget_type(scale), H5Tclose);
    const Hdf5Id space(H5Dget_space(scale), H5Sclose);
    const Hdf5Id properties(H5Dget_create_plist(scale), H5Pclose);
    if (!type || !space || !properties || H5Sget_simple_extent_ndims(space.get()) != 1 ||
        H5Pget_layout(properties.get()) == H5D_VIRTUAL ||
        H5Pget_external_count(properties.get()) != 0)
        return std::nullopt;
    const H5T_class_t kind = H5Tget_class(type.get());
    hsize_t count = 0;
    H5Sget_simple_extent_dims(space.get(), &count, nullptr);
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || count != extent || count > most_coordinates)
        return std::nullopt;
    std::vector<double> coordinates(count);
    if (H5Dread(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, coordinates.data()) < 0)
        return std::nullopt;
    const auto step = step_of(coordinates);
    // Returns, for example, 0.1 µm instead of the mean of rounded distances.
    return step ? std::optional(near_decimal(*step, step_rounding)) : step;
}

std::string last_name(hid_t object) {
    std::string name(256, '\0');
    const ssize_t length = H5Iget_name(object, name.data(), name.size());
    if (length < 1 || length >= static_cast<ssize_t>(name.size())) return "";
    name.resize(static_cast<std::size_t>(length));
    return name.substr(name.rfind('/') + 1);
}

/// Calls `use` with the first scale of every dimension; the identifier is invalid if it has none.
template <class Use>
void for_each_scale(hid_t dataset, std::size_t rank, const Use& use) {
    if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return;
    const Hdf5Id attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose);
    const Hdf5Id space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID, H5Sclose);
    const Hdf5Id type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
    const Hdf5Id file_type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID, H5Tclose);
    if (!space || !type || !file_type || H5Tequal(file_type.get(), type.get()) <= 0 ||
        H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(rank))
        return;
    std::vector<hvl_t> lists(rank, hvl_t{});
    if (H5Aread(attribute.get(), type.get(), lists.data()) < 0) return;
    const auto reclaim = [&](std::vector<hvl_t>* read) {
        H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, read->data());
    };
    const std::unique_ptr<std::vector<hvl_t>, decltype(reclaim)> reclaimed(&lists, reclaim);
    for (const hvl_t& list : lists) {
        const bool has_scale = list.len > 0 && list.p != nullptr;
        const Hdf5Id scale(
            has_scale ? H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list.p) : H5I_INVALID_HID,
            H5Oclose);
        use(scale && H5Iget_type(scale.get()) == H5I_DATASET ? scale.get() : H5I_INVALID_HID);
    }
}

/// Reads the first scale of every dimension; empty if the dataset has none.
std::vector<DimensionScale> read_scales(const Hdf5Dataset& dataset) {
    constexpr std::size_t texts_a_scale = 3;
    const std::vector<index_t>& dims = dataset.dims();
    const RecordedAnswer found = recorded_answer("scales", [&] {
        RecordedAnswer answer;
        for_each_scale(dataset.id(), dims.size(), [&](hid_t scale) {
            const std::size_t d = answer.size() / texts_a_scale;
            const bool has_scale = scale >= 0;
            const auto step = has_scale ? read_step(scale, static_cast<hsize_t>(dims[d]))
                                        : std::optional<double>();
            answer.push_back(has_scale ? last_name(scale) : "");
            answer.push_back(has_scale ? unrecorded_text_attribute(scale, "units").value_or("")
                                       : "");
            answer.push_back(step ? number_text(*step) : "");
        });
        return answer;
    });
    std::vector<DimensionScale> scales;
    for (std::size_t i = 0; i + texts_a_scale <= found.size(); i += texts_a_scale)
        scales.push_back({found[i], found[i + 1], parse_number(found[i + 2])});
    return scales;
}

/// Label and size that the file gives for a dimension.
struct Hdf5Dimension {
    std::string label;              ///< empty if the file gives none
    std::optional<double> size_um;  ///< distance of neighbors along the dimension in µm
};

/// Labels and sizes of all dimensions, and notes about them.
struct Hdf5Dimensions {
    std::vector<Hdf5Dimension> all;       ///< empty, or one for each dimension
    std::vector<std::string> notes;       ///< sentences about axes that are not used
    std::vector<std::string> size_notes;  ///< sentences about voxel sizes that are not used
};

/// Returns the axis that a label names, '?' for an empty label, nothing for an unknown word.
std::optional<char> axis_of_label(const std::string& label) {
    constexpr std::pair<const char*, char> words[] = {
        {"", '?'},        {"t", 'T'},      {"time", 'T'},      {"times", 'T'},
        {"frame", 'T'},   {"frames", 'T'}, {"timepoint", 'T'}, {"timepoints", 'T'},
        {"c", 'C'},       {"ch", 'C'},     {"channel", 'C'},   {"channels", 'C'},
        {"z", 'Z'},       {"depth", 'Z'},  {"plane", 'Z'},     {"planes", 'Z'},
        {"slice", 'Z'},   {"slices", 'Z'}, {"section", 'Z'},   {"sections", 'Z'},
        {"y", 'Y'},       {"row", 'Y'},    {"rows", 'Y'},      {"height", 'Y'},
        {"x", 'X'},       {"col", 'X'},    {"cols", 'X'},      {"column", 'X'},
        {"columns", 'X'}, {"width", 'X'},
    };
    const std::string lower_label = lower_case(label);
    for (const auto& [word, axis] : words)
        if (lower_label == word) return axis;
    return std::nullopt;
}

/// Returns the distance of neighbors in µm along an axis of axistags. Returns nothing if there is
/// no resolution, 0 if it has no unit of length.
std::optional<double> size_of_axis(const nlohmann::json& axis, const nlohmann::json& units,
                                   const std::string& key) {
    if (!axis.contains("resolution") || !axis["resolution"].is_number()) return std::nullopt;
    const auto resolution = axis["resolution"].get<double>();
    if (!(resolution > 0) || !std::isfinite(resolution)) return std::nullopt;
    const bool has_unit = units.is_object() && units.contains(key) && units[key].is_string();
    const auto micrometers =
        micrometers_per(has_unit ? units[key].get<std::string>() : std::string());
    // 0 means a resolution without a unit of length.
    return micrometers ? resolution * *micrometers : 0.0;
}

/// Reads the axes from ilastik's axistags, such as {"axes": [{"key": "z", "resolution": 0.3, …},
/// …]}, and axis_units, such as {"z": "um", …}.
void read_axistags(const std::string& axistags, const std::string& axis_units,
                   Hdf5Dimensions& dimensions, std::size_t rank, const std::string& what) {
    const nlohmann::json tags = nlohmann::json::parse(axistags, nullptr, false);
    const nlohmann::json units = nlohmann::json::parse(axis_units, nullptr, false);
    if (!tags.is_object() || !tags.contains("axes") || !tags["axes"].is_array()) return;
    std::vector<Hdf5Dimension> found;
    std::string without_unit;
    for (const auto& axis : tags["axes"]) {
        if (!axis.is_object() || !axis.contains("key") || !axis["key"].is_string()) return;
        const std::string key = axis["key"];
        auto size = size_of_axis(axis, units, key);
        if (size == 0.0) {
            const bool spatial = key == "z" || key == "y" || key == "x";
            if (spatial) without_unit += (without_unit.empty() ? "" : ", ") + key;
            size.reset();
        }
        found.push_back({key, size});
    }
    if (!without_unit.empty())
        dimensions.size_notes.push_back(
            message("the axistags of ", what, " give a resolution along ", without_unit,
                    " without a unit of length, which is not taken for a voxel size"));
    if (found.size() == rank)
        dimensions.all = std::move(found);
    else if (!found.empty())
        dimensions.notes.push_back(message("the axistags of ", what, " name ", found.size(),
                                           " axes of ", rank, " dimensions and are not used"));
}

bool has_labels(const std::vector<Hdf5Dimension>& dimensions) {
    return std::any_of(dimensions.begin(), dimensions.end(),
                       [](const Hdf5Dimension& one) { return !one.label.empty(); });
}

std::string label_text(const std::vector<Hdf5Dimension>& dimensions) {
    std::string text;
    for (const Hdf5Dimension& one : dimensions)
        text += (text.empty() ? "\"" : ", \"") + one.label + "\"";
    return text;
}

/// Reads what the dataset says about its dimensions. `axistags` and `axis_units` are its attributes
/// of these names, as JSON; they may be empty.
Hdf5Dimensions read_dimensions(const Hdf5Dataset& dataset, const std::string& axistags,
                               const std::string& axis_units) {
    const std::size_t rank = dataset.dims().size();
    Hdf5Dimensions dimensions;
    read_axistags(axistags, axis_units, dimensions, rank, dataset.full_name());
    const std::vector<std::string> labels = text_list_attribute(dataset.id(), "DIMENSION_LABELS");
    const std::vector<DimensionScale> scales = read_scales(dataset);
    if (dimensions.all.empty() && (labels.size() == rank || !scales.empty()))
        dimensions.all.resize(rank);
    for (std::size_t d = 0; d < dimensions.all.size(); ++d) {
        Hdf5Dimension& one = dimensions.all[d];
        if (one.label.empty() && labels.size() == rank) one.label = labels[d];
        if (d >= scales.size()) continue;
        if (one.label.empty()) one.label = scales[d].name;
        const auto micrometers = micrometers_per(scales[d].unit);
        if (one.size_um || !micrometers) continue;
        if (scales[d].step)
            one.size_um = *scales[d].step * *micrometers;
        else if (dataset.dims()[d] > 1)
            dimensions.size_notes.push_back(
                message("the coordinates along ", scales[d].name, " of ", dataset.full_name(),
                        " are not evenly spaced: its voxel size is taken "
                        "for unknown"));
    }
    return dimensions;
}

/// Returns the axes that labels name: t, c, z, y, x, and words such as time, channel, depth, row,
/// column. Returns "" if there are no labels or they agree with the usual order. If labels are not
/// understood, images of at most three dimensions get a note; others throw BadData.
std::string labelled_axes(Hdf5Dimensions& dimensions, const Hdf5Dataset& dataset) {
    if (!has_labels(dimensions.all)) return "";
    std::string axes;
    bool understood = true;
    for (const Hdf5Dimension& one : dimensions.all) {
        const auto axis = axis_of_label(one.label);
        understood = understood && axis;
        axes += axis.value_or('?');
    }
    if (understood && is_axes(axes)) return axes;
    const std::size_t rank = axes.size();
    const std::string usual = rank <= 5 ? std::string("TCZYX").substr(5 - rank) : "";
    // Labels of only some dimensions agree with the usual order if each of them does.
    for (std::size_t d = 0; d < usual.size() && understood; ++d)
        understood = axes[d] == '?' || axes[d] == usual[d];
    if (understood && !usual.empty()) return "";
    const auto larger =
        static_cast<std::size_t>(std::find_if(dataset.dims().begin(), dataset.dims().end(),
                                              [](index_t extent) { return extent > 1; }) -
                                 dataset.dims().begin());
    if (rank - larger > 3)
        throw BadData(message(dataset.full_name(), " names its ", rank, " dimensions ",
                              label_text(dimensions.all),
                              ", which are not all known; --axes says what they are, one letter of "
                              "T, C, Z, Y, X each"));
    dimensions.notes.push_back(message(dataset.full_name(), " names its dimensions ",
                                       label_text(dimensions.all),
                                       ", which are not all known: ", usual.empty() ? "ZYX" : usual,
                                       " is assumed; --axes decides"));
    return "";
}

/// Removes the text `name` from metadata.text and returns it; "" if there is none.
std::string extract_text(ImageMetadata& metadata, const std::string& name) {
    auto text = metadata.text.extract(name);
    return text ? std::move(text.mapped()) : "";
}

/// Sets the voxel sizes of axes that have none yet.
void take_sizes(const Hdf5Dimensions& dimensions, const AxisLayout& layout,
                ImageMetadata& metadata) {
    // The layout may have added or dropped leading dimensions of 1.
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
    metadata.unit = extract_text(metadata, "unit");
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
    const std::string axistags = extract_text(metadata, "axistags");
    Hdf5Dimensions dimensions =
        read_dimensions(dataset, axistags, extract_text(metadata, "axis_units"));
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
