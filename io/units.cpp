// SPDX-License-Identifier: Apache-2.0
#include "io/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace convolume::io {
namespace {

struct LengthUnit {
    std::string_view name;
    double micrometers;
};

/// Names whose upper and lower case differ in meaning ("mm" is no "Mm").
constexpr LengthUnit unit_symbols[] = {
    {"um", 1},        {"\u00B5m", 1},   {"\u03BCm", 1}, {"\u00B5", 1}, {"\u03BC", 1},
    {"nm", 1e-3},     {"mm", 1e3},      {"cm", 1e4},    {"m", 1e6},    {"pm", 1e-6},
    {"\u00C5", 1e-4}, {"\u212B", 1e-4}, {"A", 1e-4},    {"in", 25400}, {"\"", 25400},
};

/// Names in lower case, in the singular. Files contain both spellings of units in -meter. They are
/// data, so no spelling rule applies to them.
constexpr LengthUnit unit_words[] = {
    {"micron", 1},       {"micrometer", 1},   {"micrometre", 1},   {"nanometer", 1e-3},
    {"nanometre", 1e-3}, {"millimeter", 1e3}, {"millimetre", 1e3}, {"centimeter", 1e4},
    {"centimetre", 1e4}, {"meter", 1e6},      {"metre", 1e6},      {"picometer", 1e-6},
    {"picometre", 1e-6}, {"angstrom", 1e-4},  {"inch", 25400},     {"inche", 25400},
};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\0'))
        text.remove_suffix(1);
    return text;
}

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
        return;
    }
    // Number of continuation bytes.
    const int continuation = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xF0u << (3 - continuation) & 0xFFu) | code >> 6 * continuation);
    for (int shift = 6 * (continuation - 1); shift >= 0; shift -= 6)
        text += static_cast<char>(0x80 | (code >> shift & 0x3F));
}

/// Returns the bytes of the UTF-8 sequence at `i`, 0 if there is none. Sets `code` to its code
/// point.
std::size_t decode_utf8(std::string_view text, std::size_t i, std::uint32_t& code) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char first = byte(i);
    const std::size_t length = first < 0x80         ? 1
                               : first >> 5 == 6    ? 2
                               : first >> 4 == 14   ? 3
                               : first >> 3 == 0x1E ? 4
                                                    : 0;
    if (length == 0 || i + length > text.size()) return 0;
    code = length == 1 ? first : first & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
        if (byte(i + k) >> 6 != 2) return 0;
        code = code << 6 | (byte(i + k) & 0x3Fu);
    }
    // Least code point that needs a sequence of `length` bytes, the index. A lower one is invalid.
    constexpr std::uint32_t least_code[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code >> 11 == 0x1B;
    if (code < least_code[length] || is_surrogate || code > 0x10FFFF) return 0;
    return length;
}

/// Calls `use` with every code point. Bytes that are not UTF-8 are read as Latin-1.
template <class Use>
void for_each_code(std::string_view text, const Use& use) {
    for (std::size_t i = 0; i < text.size();) {
        std::uint32_t code = 0;
        const std::size_t length = decode_utf8(text, i, code);
        use(length == 0 ? static_cast<unsigned char>(text[i]) : code);
        i += std::max<std::size_t>(length, 1);
    }
}

template <class Number>
std::string shortest_text(Number value) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

}  // namespace

std::string upper_case(std::string_view text) {
    std::string result(text);
    for (char& letter : result)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return result;
}

std::optional<double> micrometers_per(std::string_view unit) {
    unit = trimmed(unit);
    for (const LengthUnit& symbol : unit_symbols)
        if (unit == symbol.name) return symbol.micrometers;
    std::string word = lower_case(unit);
    if (word.size() > 1 && word.back() == 's') word.pop_back();
    for (const LengthUnit& known : unit_words)
        if (word == known.name) return known.micrometers;
    return std::nullopt;
}

bool is_print_resolution(double pixels_per_inch) {
    constexpr double lowest = 50;
    constexpr double highest = 10000;  // resolution of a film scanner
    return pixels_per_inch >= lowest && pixels_per_inch <= highest;
}

std::string utf8_text(std::string_view text) {
    std::string result;
    for_each_code(text, [&](std::uint32_t code) { append_utf8(result, code); });
    return result;
}

std::string utf8_from_imagej(std::string_view text) {
    std::u16string result;
    while (!text.empty()) {
        const auto escape = std::min(text.find("\\u"), text.size());
        result += utf16_from_utf8(text.substr(0, escape));
        text.remove_prefix(escape);
        if (text.empty()) break;
        std::uint32_t code = 0;
        const char* const digits = text.data() + 2;
        const bool has_digits = text.size() >= 6;
        const auto parsed = std::from_chars(digits, has_digits ? digits + 4 : digits, code, 16);
        if (has_digits && parsed.ec == std::errc() && parsed.ptr == digits + 4) {
            result += static_cast<char16_t>(code);
            text.remove_prefix(6);
        } else {
            result += u"\\u";
            text.remove_prefix(2);
        }
    }
    return utf8_from_utf16(result);
}

std::u16string utf16_from_utf8(std::string_view text) {
    std::u16string result;
    for_each_code(text, [&](std::uint32_t code) {
        if (code < 0x10000) {
            result += static_cast<char16_t>(code);
        } else {
            result += static_cast<char16_t>(0xD800 | (code - 0x10000) >> 10);
            result += static_cast<char16_t>(0xDC00 | (code & 0x3FF));
        }
    });
    return result;
}

std::string utf8_from_utf16(std::u16string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::uint32_t code = text[i];
        if (code >> 10 == 0x36 && i + 1 < text.size() && text[i + 1] >> 10 == 0x37)
            code = 0x10000 + ((code & 0x3FF) << 10 | (text[++i] & 0x3FFu));
        append_utf8(result,
                    code >> 11 == 0x1B ? 0xFFFD : code);  // U+FFFD for an unpaired surrogate
    }
    return result;
}

std::string imagej_from_utf8(std::string_view text) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string result;
    for (const char16_t code : utf16_from_utf8(text)) {
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
    const auto value = number_in<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string number_text(double value) {
    return shortest_text(value);
}

double decimal_of_float(double value) {
    const auto single = static_cast<float>(value);
    if (static_cast<double>(single) != value) return value;
    return parse_number(shortest_text(single)).value_or(value);
}

}  // namespace convolume::io
