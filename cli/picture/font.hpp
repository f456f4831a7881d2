// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bitmap font of 5×7 pixels: enough for captions, without a font file on every machine.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace convolume::cli {

inline constexpr int glyph_width = 5;
inline constexpr int glyph_height = 7;
using Glyph = std::array<std::uint8_t, glyph_height>;

/// An empty box for characters the font lacks.
Glyph glyph_of(char32_t character);

/// Malformed bytes give some character each; nothing is read beyond the text.
std::u32string decode_utf8(std::string_view text);

}  // namespace convolume::cli
