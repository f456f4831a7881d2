// SPDX-License-Identifier: Apache-2.0
#pragma once
// Units of length by name, and conversions of text: case, encodings, numbers.

#include <optional>
#include <string>
#include <string_view>

#include "convolume/export.hpp"
#include "core/text.hpp"

namespace convolume::io {

/// Returns the µm in one unit of this name ("um", "µm", "micron", "micrometre", "nm", "mm", "inch",
/// …), singular or plural. Returns nothing for words that are no length, such as "pixel".
CONVOLUME_API std::optional<double> micrometers_per(std::string_view unit);

/// Tells whether a resolution is typical of screens, printers and photo scanners. Such a resolution
/// says nothing about the specimen.
bool is_print_resolution(double pixels_per_inch);

std::string upper_case(std::string_view text);

/// Returns `text` as UTF-8. Bytes that are not valid UTF-8 are read as Latin-1.
std::string utf8_text(std::string_view text);

/// Returns ImageJ's text as UTF-8. Bytes that are not valid UTF-8 are read as Latin-1, and escapes
/// such as \u00B5 become characters.
std::string utf8_from_imagej(std::string_view text);
/// Returns ImageJ's text for `text`: ASCII, with escapes such as \u00B5 for other characters.
std::string imagej_from_utf8(std::string_view text);

/// Converts between UTF-8 and UTF-16 (ImageJ's labels). Invalid code units become U+FFFD.
std::u16string utf16_from_utf8(std::string_view text);
std::string utf8_from_utf16(std::u16string_view text);

/// Returns all of `text` as a finite number, in the C locale, or nothing.
std::optional<double> parse_number(std::string_view text);
/// Returns the shortest text that parse_number() reads as the same value.
std::string number_text(double value);
/// Returns the shortest decimal for a value that is exact in single precision, such as 0.1 for
/// 0.1F. Returns other values as they are.
double decimal_of_float(double value);

}  // namespace convolume::io
