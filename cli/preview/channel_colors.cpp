// SPDX-License-Identifier: Apache-2.0
// The colors in which the channels of an image are drawn.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "cli/preview/command.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

constexpr Color red{255, 0, 0}, green{0, 255, 0}, blue{0, 0, 255};
constexpr Color cyan{0, 255, 255}, magenta{255, 0, 255}, yellow{255, 255, 0};
constexpr Color orange{255, 128, 0}, white{255, 255, 255};

struct UsualColor {
    const char* name;
    Color color;
};
// Colors by parts of channel names, in lower case and without spaces. The first part that a name
// contains decides. So "irfp" is before "rfp", and "cy5" before numbers.
// clang-format off
constexpr UsualColor usual_colors[] = {
    {"farred", magenta}, {"irfp", magenta}, {"cy5", magenta}, {"cy7", magenta}, {"draq5", magenta},
    {"sir-", magenta}, {"to-pro", magenta},
    {"dapi", blue}, {"hoechst", blue}, {"bfp", blue}, {"pacificblue", blue},
    {"cfp", cyan}, {"cerulean", cyan}, {"turquoise", cyan},
    {"yfp", yellow}, {"venus", yellow}, {"citrine", yellow},
    {"gfp", green}, {"fitc", green}, {"neongreen", green}, {"cy2", green}, {"bodipyfl", green},
    {"oregongreen", green}, {"fluo-4", green}, {"fluo4", green}, {"gcamp", green}, {"calcein", green},
    {"texasred", red}, {"cherry", red}, {"scarlet", red}, {"mkate", red},
    {"tritc", orange}, {"cy3", orange}, {"rhodamine", orange}, {"tomato", orange}, {"dsred", orange},
    {"rfp", red},
    {"brightfield", white}, {"transmitted", white}, {"phasecontrast", white}};
// Words that also occur within other words, and so count only at the beginning of a name.
constexpr UsualColor leading_words[] = {
    {"dic", white}, {"blue", blue}, {"cyan", cyan}, {"green", green}, {"yellow", yellow},
    {"orange", orange}, {"magenta", magenta}, {"red", red}};
// clang-format on

// Colors for channels without a color in the file and without a known name.
constexpr std::array<Color, 7> fallback_colors{cyan, magenta, yellow, green, red, blue, white};

std::string normalized(std::string_view name) {
    std::string text = lower_case(name);
    std::erase_if(text, [](char c) { return c == ' ' || c == '_'; });
    return text;
}

/// Returns the color for the number of a dye or laser in a name, such as "Alexa Fluor 488" or "ATTO
/// 647N". The number is the wavelength of excitation in nm.
std::optional<Color> color_of_excitation(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
        std::size_t end = i;
        while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
        if (end - i == 3) {
            int nm = 0;
            std::from_chars(name.data() + i, name.data() + end, nm);
            if (nm >= 350 && nm < 425) return blue;
            if (nm >= 425 && nm < 465) return cyan;
            if (nm >= 465 && nm < 512) return green;
            if (nm >= 512 && nm < 530) return yellow;
            if (nm >= 530 && nm < 565) return orange;
            if (nm >= 565 && nm < 620) return red;
            if (nm >= 620 && nm < 800) return magenta;
        }
        i = std::max(i, end);
    }
    return std::nullopt;
}

/// Returns the color in the file, unless it is black or several channels are white.
std::optional<Color> color_in_file(const io::ImageMetadata& image, std::size_t channel) {
    constexpr std::uint32_t all_white = 0xffffff;
    const auto& colors = image.channel_colors;
    if (channel >= colors.size() || !colors[channel] || *colors[channel] == 0) return std::nullopt;
    const bool alone = std::count(colors.begin(), colors.end(), std::optional(all_white)) < 2;
    if (*colors[channel] == all_white && !alone) return std::nullopt;
    return color_of_rgb(*colors[channel]);
}

/// Returns the usual color of a fluorophore or channel of that name; nothing for unknown names.
std::optional<Color> color_of_name(std::string_view channel_name) {
    const std::string name = normalized(channel_name);
    for (const UsualColor& usual : usual_colors)
        if (name.find(usual.name) != std::string::npos) return usual.color;
    for (const UsualColor& word : leading_words)
        if (name.starts_with(word.name)) return word.color;
    return color_of_excitation(name);
}

}  // namespace

std::vector<Color> colors_of_channels(const io::ImageMetadata& image) {
    const auto channels = static_cast<std::size_t>(image.channels);
    if (image.axes.ends_with('S') && channels == 3) return {red, green, blue};
    std::vector<std::optional<Color>> known(channels);
    for (std::size_t c = 0; c < channels; ++c) {
        known[c] = color_in_file(image, c);
        if (!known[c] && c < image.channel_names.size())
            known[c] = color_of_name(image.channel_names[c]);
    }
    std::vector<Color> colors;
    for (std::size_t c = 0; c < channels; ++c) {
        if (!known[c]) {
            const auto unused = std::find_if(
                fallback_colors.begin(), fallback_colors.end(), [&known](const Color& color) {
                    return std::find(known.begin(), known.end(), color) == known.end();
                });
            known[c] = unused != fallback_colors.end() ? *unused : white;
        }
        colors.push_back(*known[c]);
    }
    return colors;
}

}  // namespace convolume::cli
