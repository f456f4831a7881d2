// SPDX-License-Identifier: Apache-2.0
#include "cli/text/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <optional>
#include <utility>

#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

constexpr std::array<std::pair<std::string_view, double>, 5> units{
    {{"nm", 1e-3}, {"um", 1}, {"\u00B5m", 1}, {"\u03BCm", 1}, {"mm", 1e3}}};

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

struct ParsedLength {
    double value;
    std::optional<double> unit_um;  ///< length of the unit in µm; nothing: a bare number
};

/// Parses a finite number with or without a unit of length; returns nothing for other text.
std::optional<ParsedLength> parse_length(std::string_view text) {
    text = trimmed(text);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
    if (unit.empty()) return ParsedLength{value, std::nullopt};
    for (const auto& [name, length_um] : units)
        if (unit == name) return ParsedLength{value, length_um};
    return std::nullopt;
}

std::array<std::string_view, 3> split_triple(std::string_view option, std::string_view text) {
    std::array<std::string_view, 3> parts;
    std::string_view rest = text;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t comma = rest.find(',');
        const bool last = axis == 2;
        if ((comma == std::string_view::npos) != last)
            throw InvalidArgument(message(option, " takes three values, for z, y and x, not \"",
                                          text, "\"; separate them by commas"));
        parts[axis] = rest.substr(0, comma);
        rest.remove_prefix(last ? rest.size() : comma + 1);
    }
    return parts;
}

/// Returns a warning if the pixels of a voxel z, y, x are not square, as with the order x, y, z.
std::string pixel_shape_warning(std::string_view option, std::string_view text,
                                const std::array<double, 3>& sizes_um) {
    const auto [z, y, x] = sizes_um;
    const auto are_equal = [](double a, double b) { return std::abs(a - b) <= 0.05 * b; };
    if (are_equal(y, x)) return {};
    std::string cure = "; check the order";
    if (are_equal(z, y)) {
        const std::string_view last = trimmed(split_triple(option, text)[2]);
        const double unit_um = *parse_length(last)->unit_um;
        cure = message("; did you mean ", option, ' ', format_number(x / unit_um), ',',
                       format_number(y / unit_um), ',', format_number(z / unit_um),
                       trimmed(last.substr(last.find_last_of("0123456789.") + 1)), '?');
    }
    return message(option, ' ', text, " means pixels that are not square, ", format_number(y),
                   " µm along y and ", format_number(x),
                   " µm along x: the order is z,y,x, while Fiji's is x,y,z", cure);
}

[[noreturn]] void refuse_length(std::string_view option, std::string_view text) {
    throw InvalidArgument(message(option, " is a length with its unit (nm, um or mm), not \"", text,
                                  "\"; write it like 0.2um"));
}

}  // namespace

std::optional<double> length_um(std::string_view text) {
    const auto quantity = parse_length(text);
    if (!quantity || !quantity->unit_um) return {};
    return quantity->value * *quantity->unit_um;
}

double parse_length_um(std::string_view option, std::string_view text) {
    const auto parsed = length_um(text);
    if (!parsed) refuse_length(option, text);
    return *parsed;
}

std::vector<double> parse_depths_um(std::string_view option, std::string_view text) {
    const auto last = parse_length(text.substr(text.rfind(',') + 1));
    std::vector<double> depths_um;
    for (std::string_view rest = text;;) {
        const std::size_t comma = rest.find(',');
        const auto quantity = parse_length(rest.substr(0, comma));
        if (!quantity || !last || !last->unit_um)
            throw InvalidArgument(message(option,
                                          " takes depths with a unit (nm, um or mm), not \"", text,
                                          "\"; write them like 0,3,6,10um"));
        depths_um.push_back(quantity->value * quantity->unit_um.value_or(*last->unit_um));
        if (comma == std::string_view::npos) return depths_um;
        rest.remove_prefix(comma + 1);
    }
}

std::array<double, 3> parse_lengths_um(std::string_view option, std::string_view text) {
    const auto parts = split_triple(option, text);
    const auto last = parse_length(parts[2]);
    std::array<double, 3> lengths_um{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto quantity = parse_length(parts[axis]);
        if (!quantity || !last || !last->unit_um)
            throw InvalidArgument(message(option, " takes three lengths, for z, y and x, with a ",
                                          "unit (nm, um or mm), not \"", text,
                                          "\"; write them like 200,65,65nm"));
        lengths_um[axis] = quantity->value * quantity->unit_um.value_or(*last->unit_um);
    }
    return lengths_um;
}

std::string voxel_size_warning(std::string_view option, std::string_view text) {
    const auto is_unlikely = [](const std::array<double, 3>& sizes_um) {
        const auto [least, most] = std::minmax_element(sizes_um.begin(), sizes_um.end());
        return *most < 1e-3 || *least < 0 || *most > 1e3;
    };
    const std::array<double, 3> sizes_um = parse_lengths_um(option, text);
    for (const double size_um : sizes_um)
        if (!(size_um > 0))
            throw InvalidArgument(message(option, " is \"", text,
                                          "\", but voxels have positive sizes; write them like "
                                          "200,65,65nm"));
    if (!is_unlikely(sizes_um)) return pixel_shape_warning(option, text, sizes_um);
    std::string suggestion;
    const auto parts = split_triple(option, text);
    const std::string_view last = trimmed(parts[2]);
    const std::size_t unit = last.find_last_of("0123456789.") + 1;
    const bool one_unit = parse_length(parts[0])->unit_um == std::nullopt &&
                          parse_length(parts[1])->unit_um == std::nullopt;
    // Numbers from 10 on are probably nanometers.
    const bool large = parse_length(parts[1])->value >= 10;
    for (const char* other : {large ? "nm" : "um", large ? "um" : "nm"}) {
        const std::string numbers(text.substr(0, text.find(last) + unit));
        const std::string candidate = numbers + other;
        if (!suggestion.empty() || !one_unit || is_unlikely(parse_lengths_um(option, candidate)))
            continue;
        suggestion = message("; did you mean ", option, ' ', candidate, '?');
    }
    return message(option, ' ', text, " means voxels of ", sizes_um[0], " × ", sizes_um[1], " × ",
                   sizes_um[2], " µm, which no light microscope has",
                   suggestion.empty() ? "; check the numbers and their unit" : suggestion);
}

double parse_wavelength_um(std::string_view option, std::string_view text) {
    const auto quantity = parse_length(text);
    if (!quantity) refuse_length(option, text);
    const double value = quantity->value;
    if (quantity->unit_um) {
        const double length_um = value * *quantity->unit_um;
        // Refuse a plausible number with the wrong unit; the users of the value check its range.
        const bool nanometers = value >= 200 && value <= 2000,
                   micrometers = value >= 0.2 && value <= 2;
        if ((length_um > 10 && nanometers) || (length_um > 0 && length_um < 0.1 && micrometers))
            throw InvalidArgument(message(option, " is ", length_um,
                                          " µm, and no light has that wavelength; did you mean ",
                                          value, nanometers ? "nm?" : "um?"));
        return length_um;
    }
    if (value >= 0.2 && value <= 2) return value;
    if (value >= 200 && value <= 2000) return value * 1e-3;
    throw InvalidArgument(message(option, " ", text,
                                  " has no unit, and as a wavelength it is neither in µm (0.2 to "
                                  "2) nor in nm (200 to 2000); write it like 520nm"));
}

Shape3 parse_extents(std::string_view option, std::string_view text) {
    const auto parts = split_triple(option, text);
    Shape3 shape;
    for (int axis = 0; axis < 3; ++axis) {
        const std::string_view part = trimmed(parts[static_cast<std::size_t>(axis)]);
        shape[axis] = number_in<index_t>(part).value_or(0);
        if (shape[axis] < 1)
            throw InvalidArgument(message(option,
                                          " takes three whole numbers from 1, for z, y and "
                                          "x, not \"",
                                          text, "\"; write them like 64,256,256"));
    }
    return shape;
}

std::size_t count_characters(std::string_view utf8) {
    // Bytes that continue a character begin with the bits 10.
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

std::string format_duration(double seconds) {
    TextStream text;
    if (seconds < 100) {
        text << std::fixed
             << std::setprecision(seconds < 1    ? 3
                                  : seconds < 10 ? 2
                                                 : 1)
             << seconds << " s";
    } else {
        const long long whole = std::llround(seconds);
        if (whole < 3600)
            text << whole / 60 << " min " << whole % 60 << " s";
        else
            text << whole / 3600 << " h " << whole % 3600 / 60 << " min";
    }
    return text.str();
}

std::string one_line(const io::ImageMetadata& metadata) {
    TextStream text;
    text << metadata.format;
    if (metadata.frames > 1) text << ", " << metadata.frames << " frames";
    if (metadata.channels > 1) text << ", " << metadata.channels << " channels";
    text << ", z,y,x " << to_string(metadata.shape) << ' ' << to_string(metadata.type) << ", "
         << format_voxel_size(metadata.voxel_size_um);
    return text.str();
}

}  // namespace convolume::cli
