// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words for lengths, and the texts they come in.

#include <optional>
#include <string>
#include <string_view>

#include "convolume/export.hpp"

namespace convolume::io {

/// Returns the µm in one unit of that name ("um", "µm", "micron", "micrometre", "nm", "mm", "inch",
/// …), singular or plural; nothing for words that are no length, such as "pixel".
CONVOLUME_API std::optional<double> micrometers_per(std::string_view unit);

/// Tells whether a resolution is one of screens, printers and scanners of photographs, which says
/// nothing about the specimen.
bool is_print_resolution(double pixels_per_inch);

/// Letters of ASCII made small or capital.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

/// Returns `text` as UTF-8: bytes that are not UTF-8 are taken for Latin-1.
std::string utf8_text(std::string_view text);

/// ImageJ's text as UTF-8: bytes that are not UTF-8 are Latin-1, and \u00B5 is written out.
std::string utf8_from_imagej(std::string_view text);
/// The reverse, in ASCII.
std::string imagej_from_utf8(std::string_view text);

/// ImageJ's labels are UTF-16. What is no text becomes U+FFFD.
std::u16string utf16_from_utf8(std::string_view text);
std::string utf8_from_utf16(std::u16string_view text);

/// The whole of `text` as a finite number, in the C locale.
std::optional<double> parse_number(std::string_view text);
/// The shortest text that parse_number reads as the same value.
std::string number_text(double value);
/// 0.1 for a value that is 0.1 in single precision; other values as they are.
double decimal_of_float(double value);

}  // namespace convolume::io
