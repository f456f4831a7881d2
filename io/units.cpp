// SPDX-License-Identifier: Apache-2.0
#include "io/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace convolume::io {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 31> lengths{{
    {"um", 1},
    {"\u00B5m", 1},
    {"\u03BCm", 1},
    {"micron", 1},
    {"microns", 1},
    {"micrometer", 1},
    {"micrometers", 1},
    {"micrometer", 1},
    {"micrometers", 1},
    {"nm", 1e-3},
    {"nanometer", 1e-3},
    {"nanometers", 1e-3},
    {"nanometer", 1e-3},
    {"nanometers", 1e-3},
    {"mm", 1e3},
    {"millimeter", 1e3},
    {"millimeters", 1e3},
    {"millimeter", 1e3},
    {"millimeters", 1e3},
    {"cm", 1e4},
    {"centimeter", 1e4},
    {"centimetre", 1e4},
    {"m", 1e6},
    {"meter", 1e6},
    {"meter", 1e6},
    {"inch", 25400},
    {"in", 25400},
    {"pm", 1e-6},
    {"\u00C5", 1e-4},
    {"angstrom", 1e-4},
    {"A", 1e-4},
}};

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | (code >> 6));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xE0 | (code >> 12));
        text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

/// Bytes of the UTF-8 sequence at `i`, 0 where there is none. Its code goes to `code`.
std::size_t decode_utf8(std::string_view text, std::size_t i, std::uint32_t& code) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char first = byte(i);
    const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 0;
    if (length == 0 || i + length > text.size()) return 0;
    code = length == 1 ? first : first & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
        if (byte(i + k) >> 6 != 2) return 0;
        code = code << 6 | (byte(i + k) & 0x3Fu);
    }
    return length;
}

}  // namespace

std::optional<double> micrometers_per(std::string_view unit) {
    for (const auto& [name, micrometers] : lengths)
        if (unit == name) return micrometers;
    return std::nullopt;
}

std::string utf8_from_imagej(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        std::uint32_t code = 0;
        if (text.substr(i, 2) == "\\u" && i + 6 <= text.size()) {
            const char* digits = text.data() + i + 2;
            const auto parsed = std::from_chars(digits, digits + 4, code, 16);
            if (parsed.ec == std::errc() && parsed.ptr == digits + 4) {
                append_utf8(result, code);
                i += 6;
                continue;
            }
        }
        const std::size_t length = decode_utf8(text, i, code);
        append_utf8(result, length == 0 ? static_cast<unsigned char>(text[i]) : code);
        i += length == 0 ? 1 : length;
    }
    return result;
}

std::string imagej_from_utf8(std::string_view text) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        std::uint32_t code = 0;
        const std::size_t length = decode_utf8(text, i, code);
        if (length == 0) code = static_cast<unsigned char>(text[i]);
        i += length == 0 ? 1 : length;
        if (code < 0x80) {
            result += static_cast<char>(code);
            continue;
        }
        result += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) result += digits[code >> shift & 0xF];
    }
    return result;
}

std::optional<double> parse_number(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
        !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::string number_text(double value) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

double decimal_of_float(double value) {
    const auto single = static_cast<float>(value);
    if (static_cast<double>(single) != value) return value;
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), single).ptr;
    return parse_number({text.data(), static_cast<std::size_t>(end - text.data())}).value_or(value);
}

}  // namespace convolume::io
