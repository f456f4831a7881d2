// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/dimensions.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/scales.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// '?' for no label, nothing for a word that names no axis.
std::optional<char> axis_of_label(std::string label) {
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
    std::transform(label.begin(), label.end(), label.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    for (const auto& [word, axis] : words)
        if (label == word) return axis;
    return std::nullopt;
}

/// µm along an axis of axistags; nothing where the unit is unknown.
std::optional<double> size_of_axis(const nlohmann::json& axis, const nlohmann::json& units,
                                   const std::string& key) {
    if (!axis.contains("resolution") || !axis["resolution"].is_number()) return std::nullopt;
    const auto resolution = axis["resolution"].get<double>();
    if (!(resolution > 0) || !std::isfinite(resolution)) return std::nullopt;
    const bool has_unit = units.is_object() && units.contains(key) && units[key].is_string();
    const auto micrometers =
        micrometers_per(has_unit ? units[key].get<std::string>() : std::string());
    // 0: there is a resolution, but no unit of length.
    return micrometers ? resolution * *micrometers : 0.0;
}

/// ilastik's {"axes": [{"key": "z", "resolution": 0.3, …}, …]} and {"z": "um", …}.
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

}  // namespace

Hdf5Dimensions read_dimensions(const Hdf5Dataset& dataset, const std::string& axistags,
                               const std::string& axis_units) {
    const std::size_t rank = dataset.dims().size();
    Hdf5Dimensions dimensions;
    read_axistags(axistags, axis_units, dimensions, rank, dataset.full_name());
    const std::vector<std::string> labels = text_list_attribute(dataset.id(), "DIMENSION_LABELS");
    const std::vector<Hdf5Scale> scales = read_scales(dataset);
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
    // Labels of some dimensions only, which say what would be assumed without them.
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

}  // namespace convolume::io
