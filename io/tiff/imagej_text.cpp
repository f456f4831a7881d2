// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/imagej_text.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "convolume/error.hpp"
#include "io/formats.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entries_of(const std::string& description) {
    Entries entries;
    std::istringstream lines(description);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        const auto equals = line.find('=');
        if (equals != std::string::npos && equals > 0)
            entries.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return entries;
}

std::string value_of(const Entries& entries, std::string_view key) {
    for (const auto& [name, value] : entries)
        if (name == key) return value;
    return "";
}

/// A count of at least 1; 1 where the description says nothing or nonsense.
index_t count_of(const Entries& entries, std::string_view key) {
    const double count = parse_number(value_of(entries, key)).value_or(1);
    return count >= 1 && count <= 1e15 ? static_cast<index_t>(count) : 1;
}

/// Keys this file writes itself, or whose meaning is lost when pixel values change.
bool is_own_key(std::string_view key) {
    static constexpr std::string_view own[] = {
        "ImageJ", "images", "channels", "slices", "frames",  "hyperstack",
        "mode",   "unit",   "yunit",    "zunit",  "spacing", "finterval",
        "fps",    "tunit",  "order",    "vunit",  "cf"};
    if (key.size() == 2 && key[0] == 'c' && key[1] >= '0' && key[1] <= '9') return true;
    return std::find(std::begin(own), std::end(own), key) != std::end(own);
}

}  // namespace

bool is_imagej_description(const std::string& description) {
    return description.compare(0, 7, "ImageJ=") == 0;
}

TiffStack imagej_stack(const std::string& description) {
    const Entries entries = entries_of(description);
    std::string order = value_of(entries, "order");
    std::string sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != "ctz") order = "czt";

    TiffStack stack;
    for (auto letter = order.rbegin(); letter != order.rend(); ++letter) {
        const index_t extent = count_of(entries, *letter == 'c'   ? "channels"
                                                 : *letter == 'z' ? "slices"
                                                                  : "frames");
        if (extent == 1) continue;
        stack.axes += static_cast<char>(*letter - 'a' + 'A');
        stack.dims.push_back(extent);
    }
    // Virtual stacks may name their images only.
    const index_t images = count_of(entries, "images");
    if (images > 1 && stack.planes() != images) return {"Z", {images}, {}};
    return stack;
}

void read_imagej_calibration(const std::string& description,
                             const std::array<double, 2>& pixels_per_unit,
                             ImageMetadata& metadata) {
    const Entries entries = entries_of(description);
    metadata.unit = utf8_from_imagej(value_of(entries, "unit"));
    const auto unit_of = [&](const char* key) {
        const std::string own = value_of(entries, key);
        return micrometers_per(own.empty() ? metadata.unit : utf8_from_imagej(own));
    };
    const auto set = [&](std::size_t axis, std::optional<double> unit, double size) {
        if (unit && size > 0) metadata.voxel_size_um[axis] = size * *unit;
    };
    set(0, unit_of("zunit"), parse_number(value_of(entries, "spacing")).value_or(0));
    set(1, unit_of("yunit"), pixels_per_unit[0] > 0 ? 1 / pixels_per_unit[0] : 0);
    set(2, unit_of("unit"), pixels_per_unit[1] > 0 ? 1 / pixels_per_unit[1] : 0);

    const std::string time_unit = value_of(entries, "tunit");
    const double seconds = time_unit == "ms" || time_unit == "msec" ? 1e-3
                           : time_unit == "min"                     ? 60
                                                                    : 1;
    if (value_of(entries, "cf") == "0")
        metadata.scaling = usable_scaling(parse_number(value_of(entries, "c1")),
                                          parse_number(value_of(entries, "c0")));
    const double interval = parse_number(value_of(entries, "finterval")).value_or(0);
    const double rate = parse_number(value_of(entries, "fps")).value_or(0);
    if (interval > 0)
        metadata.frame_interval_s = interval * seconds;
    else if (rate > 0)
        metadata.frame_interval_s = 1 / rate;
}

ImagejUnit imagej_unit(const ImageMetadata& metadata) {
    const auto& size = metadata.voxel_size_um;
    if (!size[0] && !size[1] && !size[2]) return {};
    if (const auto unit = micrometers_per(metadata.unit)) return {metadata.unit, *unit};
    return {"um", 1};
}

std::string imagej_description(const ImageMetadata& metadata) {
    const Entries source = is_imagej_description(metadata.imagej_description)
                               ? entries_of(metadata.imagej_description)
                               : Entries{};
    const index_t slices = metadata.shape.z;
    const index_t images = metadata.frames * metadata.channels * slices;
    std::string text = "ImageJ=1.53t\n";
    const auto add = [&](std::string_view key, const std::string& value) {
        text += message(key, "=", value, "\n");
    };
    add("images", std::to_string(images));
    if (metadata.channels > 1) add("channels", std::to_string(metadata.channels));
    if (slices > 1) add("slices", std::to_string(slices));
    if (metadata.frames > 1) add("frames", std::to_string(metadata.frames));
    if ((metadata.channels > 1) + (slices > 1) + (metadata.frames > 1) > 1)
        add("hyperstack", "true");
    const std::string mode = value_of(source, "mode");
    add("mode", metadata.channels > 1 ? (mode.empty() ? "composite" : mode) : "grayscale");

    const ImagejUnit unit = imagej_unit(metadata);
    add("unit", unit.name.empty() ? (metadata.unit.empty() || micrometers_per(metadata.unit)
                                         ? "pixel"
                                         : imagej_from_utf8(metadata.unit))
                                  : imagej_from_utf8(unit.name));
    if (metadata.voxel_size_um[0] && !unit.name.empty())
        add("spacing", number_text(*metadata.voxel_size_um[0] / unit.micrometers));
    if (metadata.frame_interval_s) add("finterval", number_text(*metadata.frame_interval_s));
    if (metadata.scaling) {
        add("cf", "0");  // a straight line
        add("c0", number_text(metadata.scaling->offset));
        add("c1", number_text(metadata.scaling->scale));
        add("vunit", "Gray Value");
    }
    for (const auto& [key, value] : source) {
        const bool of_source_range = metadata.scaling && (key == "min" || key == "max");
        if (!is_own_key(key) && !of_source_range) add(key, value);
    }
    return text;
}

}  // namespace convolume::io
