// SPDX-License-Identifier: Apache-2.0
#pragma once
// The colors in which the channels of an image are drawn.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/picture/canvas.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// A color, or nothing for a channel that is left out.
using ChannelColor = std::optional<Color>;

/// "green,none,ff8000": names of colors, "none", or six hexadecimal digits. Throws InvalidArgument.
std::vector<ChannelColor> parse_channel_colors(std::string_view option, const std::string& text);

/// The name of a color, or six hexadecimal digits.
std::string text_of(Color color);

/// The color that light of a fluorophore or a channel of that name is usually shown in; nothing for
/// names that say nothing.
std::optional<Color> color_of_name(std::string_view channel_name);

/// One for each channel of an image of several: that of the file, else of the channel's name, else
/// the first of cyan, magenta, yellow and further ones that no other channel has.
std::vector<Color> colors_of_channels(const io::ImageMetadata& image);

}  // namespace convolume::cli
