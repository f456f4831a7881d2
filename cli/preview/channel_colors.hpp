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

/// Parses colors such as "green,none,ff8000". Throws InvalidArgument that lists the names.
std::vector<ChannelColor> parse_channel_colors(std::string_view option, const std::string& text);

/// Returns the name of a color, or six hexadecimal digits.
std::string text_of(Color color);

/// Returns the usual color of a fluorophore or channel of that name; nothing for unknown names.
std::optional<Color> color_of_name(std::string_view channel_name);

/// Returns a color for each channel of an image: the color in the file, else that of the channel's
/// name. Otherwise it is the first of cyan, magenta, yellow, … that no other channel has.
std::vector<Color> colors_of_channels(const io::ImageMetadata& image);

}  // namespace convolume::cli
