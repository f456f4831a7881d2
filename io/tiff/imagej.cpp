// SPDX-License-Identifier: Apache-2.0
// Descriptions by ImageJ and ImageJ2, whose library SCIFIO writes ImageJ's keys and also axes.

#include "io/tiff/imagej.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "convolume/error.hpp"
#include "core/text.hpp"
#include "io/image_file.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Removes voxel sizes that are the resolution of a print, which ImageJ keeps with its unit.
void forget_print_resolution(const TiffSource& source, ImageMetadata& metadata) {
    if (metadata.unit != "inch") return;
    for (std::size_t axis = 1; axis < 3; ++axis) {
        const double resolution = source.pixels_per_unit[axis - 1];
        if (!is_print_resolution(resolution)) continue;
        metadata.voxel_size_um[axis].reset();
        if (axis == 2) note_print_resolution(resolution, metadata);
    }
}

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the lines KEY=VALUE of a description.
KeyValues key_values_of(const std::string& description) {
    KeyValues entries;
    for (std::string& line : pieces_of(description, '\n')) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        const auto equals = line.find('=');
        if (equals != std::string::npos && equals > 0)
            entries.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return entries;
}

/// Returns the first value of `key`, "" if there is none.
std::string value_of(const KeyValues& entries, std::string_view key) {
    for (const auto& [name, value] : entries)
        if (name == key) return value;
    return "";
}

/// Returns the count under `key`, 1 if it is missing or invalid.
index_t count_of(const KeyValues& entries, std::string_view key) {
    const double count = parse_number(value_of(entries, key)).value_or(1);
    return count >= 1 && count <= 1e15 ? static_cast<index_t>(count) : 1;
}

/// Returns the comma-separated values of `key`.
std::vector<std::string> list_of(const KeyValues& entries, std::string_view key) {
    return pieces_of(value_of(entries, key), ',');
}

/// Returns the stack that ImageJ2's axes describe, which are listed fastest first, such as
/// "axes=X,Y,Channel,Z" with "lengths=8,6,2,3".
TiffStack scifio_stack(const KeyValues& entries) {
    const std::vector<std::string> axes = list_of(entries, "axes");
    const std::vector<std::string> lengths = list_of(entries, "lengths");
    TiffStack stack;
    const auto refuse = [&] {
        stack.ambiguity =
            message("has the axes ", value_of(entries, "axes"), " of ImageJ2 with the ", "lengths ",
                    value_of(entries, "lengths"));
        return stack;
    };
    if (axes.size() < 2 || axes.size() != lengths.size() || axes[0] != "X" || axes[1] != "Y")
        return refuse();
    for (std::size_t d = axes.size(); d-- > 2;) {
        const double length = parse_number(lengths[d]).value_or(0);
        if (!(length >= 1 && length <= 1e15)) return refuse();
        const char letter = axes[d] == "Channel" ? 'C'
                            : axes[d] == "Z"     ? 'Z'
                            : axes[d] == "Time"  ? 'T'
                                                 : '?';
        if (length == 1) continue;
        if (letter == '?' || stack.axes.find(letter) != std::string::npos) return refuse();
        stack.axes += letter;
        stack.dims.push_back(static_cast<index_t>(length));
    }
    return stack;
}

/// Sets voxel sizes from the scales and units of ImageJ2's axes.
void read_scifio_scales(const KeyValues& entries, ImageMetadata& metadata) {
    const std::vector<std::string> axes = list_of(entries, "axes");
    const std::vector<std::string> scales = list_of(entries, "scales");
    const std::vector<std::string> units = list_of(entries, "units");
    for (std::size_t d = 0; d < std::min({axes.size(), scales.size(), units.size()}); ++d) {
        const auto axis = std::string_view("ZYX").find(axes[d]);
        const auto unit = micrometers_per(utf8_from_imagej(units[d]));
        const double scale = std::abs(parse_number(scales[d]).value_or(0));
        if (axes[d].size() != 1 || axis == std::string_view::npos || !unit || scale <= 0) continue;
        metadata.voxel_size_um[axis] = scale * *unit;
        if (metadata.unit.empty()) metadata.unit = utf8_from_imagej(units[d]);
    }
}

/// Tells whether imagej_description() writes `key` itself, or it is lost if pixel values change.
bool is_own_key(std::string_view key) {
    static constexpr std::string_view own[] = {
        "ImageJ",  "images", "channels", "slices",      "frames",    "hyperstack", "mode",
        "unit",    "yunit",  "zunit",    "spacing",     "finterval", "fps",        "tunit",
        "order",   "vunit",  "cf",       "min",         "max",       "SCIFIO",     "axes",
        "lengths", "scales", "units",    "bitsPerPixel"};
    if (key.size() == 2 && key[0] == 'c' && key[1] >= '0' && key[1] <= '9') return true;
    return std::find(std::begin(own), std::end(own), key) != std::end(own);
}

/// Adds the units of length. ImageJ has one for all axes, and further ones for y and z if they
/// differ. An axis of unknown size has the unit "pixel".
template <class Add>
void add_units(const ImageMetadata& metadata, const Add& add) {
    const auto& size = metadata.voxel_size_um;
    const ImagejUnit unit = imagej_unit(metadata);
    const bool is_length = metadata.unit.empty() || micrometers_per(metadata.unit);
    const std::string pixel = is_length ? "pixel" : imagej_from_utf8(metadata.unit);
    const auto word = [&](const std::optional<double>& known) {
        return known ? imagej_from_utf8(unit.name) : pixel;
    };
    const bool is_flat = metadata.shape.z == 1 && !size[0];
    add("unit", word(size[2]));
    if (word(size[1]) != word(size[2])) add("yunit", word(size[1]));
    if (!is_flat && word(size[0]) != word(size[2])) add("zunit", word(size[0]));
    if (size[0]) add("spacing", number_text(*size[0] / unit.micrometers));
}

/// Adds "min=…" and "max=…", in the same total length for all ranges.
template <class Add>
void add_range(const DisplayRange& range, const Add& add) {
    constexpr std::size_t longest_number = 24;
    std::string least = number_text(range.least);
    const std::string most = number_text(range.most);
    add("min", least);
    add("max", most + std::string(2 * longest_number - least.size() - most.size(), ' '));
}

/// Returns the values of a tag that libtiff does not know; empty if they have another type.
template <class T>
std::vector<T> unregistered_tag(const TiffHandle& tiff, std::uint32_t tag, TIFFDataType type) {
    const TIFFField* field = TIFFFindField(tiff, tag, TIFF_ANY);
    if (field == nullptr || TIFFFieldDataType(field) != type || !TIFFFieldPassCount(field) ||
        TIFFFieldReadCount(field) != TIFF_VARIABLE2)
        return {};
    std::uint32_t count = 0;
    const T* values = nullptr;
    if (TIFFGetField(tiff, tag, &count, &values) != 1 || values == nullptr) return {};
    return {values, values + count};
}

/// Reads tags 50838 and 50839 of the current directory, in this machine's byte order. They are
/// empty if they are missing or contradict each other.
void read_imagej_tags(const TiffHandle& tiff, ImageMetadata& metadata) {
    metadata.imagej_metadata_counts = unregistered_tag<std::uint32_t>(tiff, 50838, TIFF_LONG);
    metadata.imagej_metadata = unregistered_tag<std::uint8_t>(tiff, 50839, TIFF_BYTE);
    std::uint64_t total = 0;
    for (const std::uint32_t count : metadata.imagej_metadata_counts) total += count;
    if (total == metadata.imagej_metadata.size() && TIFFIsByteSwapped(tiff))
        swap_imagej_metadata(metadata.imagej_metadata, metadata.imagej_metadata_counts);
    if (total == 0 || total != metadata.imagej_metadata.size()) {
        metadata.imagej_metadata.clear();
        metadata.imagej_metadata_counts.clear();
    }
    for (const std::uint32_t color : imagej_colors(metadata))
        metadata.channel_colors.emplace_back(color);
}

}  // namespace

std::optional<TiffStack> read_imagej(TiffSource& source, ImageMetadata& metadata) {
    if (!is_imagej_description(source.description)) return std::nullopt;
    metadata.format = is_scifio_description(source.description) ? "ImageJ2 TIFF" : "ImageJ TIFF";
    metadata.imagej_description = source.description;
    read_imagej_calibration(source.description, source.pixels_per_unit, metadata);
    if (metadata.unit.empty()) read_plain_calibration(source, metadata);
    forget_print_resolution(source, metadata);
    read_imagej_tags(source.tiff, metadata);
    TiffStack stack = imagej_stack(source.description);
    if (!stack.ambiguity.empty()) return stack;
    // The description may count the samples of RGB pages as channels.
    const index_t samples = source.first_page().samples;
    const auto c = stack.axes.find('C');
    if (samples > 1 && c != std::string::npos && stack.dims[c] == samples &&
        stack.planes() / samples == static_cast<index_t>(source.full_pages.size()))
        stack.dims[c] = 1;
    read_imagej_channel_names(stack, metadata);
    return stack;
}

bool is_scifio_description(const std::string& description) {
    return description.starts_with("SCIFIO=");
}

bool is_imagej_description(const std::string& description) {
    return description.starts_with("ImageJ=") || is_scifio_description(description);
}

TiffStack imagej_stack(const std::string& description) {
    const KeyValues entries = key_values_of(description);
    if (is_scifio_description(description) && !value_of(entries, "axes").empty())
        return scifio_stack(entries);
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
    const index_t images = count_of(entries, "images");
    if (stack.dims.empty()) {  // virtual stacks may give only the number of images
        stack.axes = "Z";
        stack.dims = {images};
        return stack;
    }
    if (images > 1 && stack.planes() != images)
        stack.ambiguity = message("says that it has ", images, " images, and in the same text ",
                                  stack.planes(), " planes");
    return stack;
}

void read_imagej_calibration(const std::string& description,
                             const std::array<double, 2>& pixels_per_unit,
                             ImageMetadata& metadata) {
    const KeyValues entries = key_values_of(description);
    metadata.unit = utf8_from_imagej(value_of(entries, "unit"));
    const auto unit_of = [&](const char* key) {
        const std::string own = value_of(entries, key);
        return micrometers_per(own.empty() ? metadata.unit : utf8_from_imagej(own));
    };
    const auto set = [&](std::size_t axis, std::optional<double> unit, double size) {
        if (unit && size > 0) metadata.voxel_size_um[axis] = size * *unit;
    };
    // A stack that was recorded downwards has a negative spacing.
    set(0, unit_of("zunit"), std::abs(parse_number(value_of(entries, "spacing")).value_or(0)));
    set(1, unit_of("yunit"), pixels_per_unit[0] > 0 ? 1 / pixels_per_unit[0] : 0);
    set(2, unit_of("unit"), pixels_per_unit[1] > 0 ? 1 / pixels_per_unit[1] : 0);

    if (is_scifio_description(description)) read_scifio_scales(entries, metadata);

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
    if (const auto unit = micrometers_per(metadata.unit)) return {metadata.unit, *unit};
    return {"um", 1};
}

std::string imagej_description(const ImageMetadata& metadata, const DisplayRange& range) {
    const KeyValues source = is_imagej_description(metadata.imagej_description)
                                 ? key_values_of(metadata.imagej_description)
                                 : KeyValues{};
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

    add_units(metadata, add);
    if (metadata.frame_interval_s) add("finterval", number_text(*metadata.frame_interval_s));
    if (metadata.scaling) {
        add("cf", "0");  // ImageJ's code for a linear function
        add("c0", number_text(metadata.scaling->offset));
        add("c1", number_text(metadata.scaling->scale));
        add("vunit", "Gray Value");
    }
    for (const auto& [key, value] : source)
        if (!is_own_key(key)) add(key, value);
    add_range(range, add);
    return text;
}

}  // namespace convolume::io
