// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words for lengths, and the texts they come in.

#include <optional>
#include <string>
#include <string_view>

namespace convolume::io {

/// µm in one unit of that name ("um", "µm", "micron", "nm", "mm", "inch", …); nothing for words
/// that are no length, such as "pixel".
std::optional<double> micrometers_per(std::string_view unit);

/// ImageJ's text as UTF-8: bytes that are not UTF-8 are Latin-1, and \u00B5 is written out.
std::string utf8_from_imagej(std::string_view text);
/// The reverse, in ASCII.
std::string imagej_from_utf8(std::string_view text);

/// The whole of `text` as a finite number, in the C locale.
std::optional<double> parse_number(std::string_view text);
/// The shortest text that parse_number reads as the same value.
std::string number_text(double value);
/// 0.1 for a value that is 0.1 in single precision; other values as they are.
double decimal_of_float(double value);

}  // namespace convolume::io
