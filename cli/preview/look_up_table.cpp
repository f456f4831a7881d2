// SPDX-License-Identifier: Apache-2.0
#include "cli/preview/look_up_table.hpp"

#include <algorithm>
#include <utility>

#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

struct NamedColor {
    const char* name;
    Color color;
};
constexpr auto named_colors = std::to_array<NamedColor>({{"gray", {255, 255, 255}},
                                                         {"red", {255, 0, 0}},
                                                         {"green", {0, 255, 0}},
                                                         {"blue", {0, 0, 255}},
                                                         {"cyan", {0, 255, 255}},
                                                         {"magenta", {255, 0, 255}},
                                                         {"yellow", {255, 255, 0}},
                                                         {"orange", {255, 128, 0}},
                                                         {"white", {255, 255, 255}}});

/// A published table, six hexadecimal digits for each color.
struct NamedTable {
    const char* name;
    const char* digits;
    double steps;  ///< distances of colors up to the highest value
};
constexpr auto named_tables = std::to_array<NamedTable>({
    // The colors of every eighth of ImageJ's 256 entries; the last eight entries are equal.
    {"fire",
     "00000000003d0100601900823100a54900c06200dc7a00e39200d2a200b5ad0097b8007ac3005dcf0e40"
     "d92323e53905f04f00fc6500ff7500ff8500ff9300ffa100ffaf00ffbe00ffcd00ffdb00ffea00fff823"
     "ffff62ffffa0ffffdfffffffffffff",
     255.0 / 8},
    // Every fifth of the 256 entries of Matplotlib's tables (CC0).
    {"viridis",
     "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b"
     "38598c355e8d33638d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b"
     "1e9c891fa18821a58524aa8328ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd250"
     "89d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725",
     51},
    {"inferno",
     "00000402020c0504170a072210092d160b391e0c45260c512f0a5b380962400a67490b6a510e6c59106e"
     "61136e69166e71196e781c6d801f6c88226a902568982766a02a63a82e5fb0315bb73557bf3952c63d4d"
     "cc4248d34743d94d3ddf5337e45a31e9612bed6925f1711ff47918f78212f98b0bfa9407fb9d07fca60c"
     "fcb014fbba1ffac42af8cd37f6d746f4e156f2ea69f2f27df5f992fcffa4",
     51},
});

std::optional<Color> color_of_digits(std::string_view text) {
    const auto rgb = number_in<std::uint32_t>(text, 16);
    if (text.size() != 6 || !rgb) return std::nullopt;
    return color_of_rgb(*rgb);
}

std::vector<Color> colors_of_digits(std::string_view digits) {
    std::vector<Color> colors;
    for (; !digits.empty(); digits.remove_prefix(6))
        colors.push_back(*color_of_digits(digits.substr(0, 6)));
    return colors;
}

std::string color_text(Color color) {
    for (const NamedColor& named : named_colors)
        if (color == named.color) return named.name;
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const int part : {int{color.red}, int{color.green}, int{color.blue}})
        text += {digits[part / 16], digits[part % 16]};
    return text;
}

/// Returns the name in lower case, without the "mpl-" and the plural of Fiji's names.
std::string usual_name(const std::string& typed) {
    std::string text = lower_case(typed);
    if (text.starts_with("mpl-")) text.erase(0, 4);
    if (text == "grays" || text == "grey" || text == "greys") return "gray";
    return text;
}

std::optional<LookUpTable> parse_look_up_table(std::string_view option, const std::string& text) {
    const std::string name = usual_name(text);
    if (name == "none") return std::nullopt;
    for (const NamedColor& named : named_colors)
        if (name == named.name) return LookUpTable(named.color);
    for (const NamedTable& named : named_tables)
        if (name == named.name)
            return LookUpTable(name, colors_of_digits(named.digits), named.steps);
    if (const auto color = color_of_digits(name)) return LookUpTable(*color);
    std::string names;
    for (const NamedColor& named : named_colors) names += message(named.name, ", ");
    for (const NamedTable& named : named_tables) names += message(named.name, ", ");
    throw InvalidArgument(message(option, " has no look-up table \"", text, "\"; give ", names,
                                  "none, or six hexadecimal digits such as ff8000"));
}

}  // namespace

LookUpTable::LookUpTable(Color color)
    : LookUpTable(color_text(color), {Color{0, 0, 0}, color}, 1) {}

LookUpTable::LookUpTable(std::string table_name, std::vector<Color> table_colors,
                         double table_steps)
    : name(std::move(table_name)), colors(std::move(table_colors)), steps(table_steps) {}

std::array<double, 3> LookUpTable::at(double level) const {
    const double place = std::clamp(level, 0.0, 1.0) * steps;
    const auto below = std::min(static_cast<std::size_t>(place), colors.size() - 2);
    const double fraction = place - static_cast<double>(below);
    const Color &a = colors[below], &b = colors[below + 1];
    const auto between = [fraction](int from, int to) { return from + fraction * (to - from); };
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

LookUpTable gray_table() {
    return LookUpTable(Color{255, 255, 255});
}

std::vector<std::optional<LookUpTable>> parse_look_up_tables(std::string_view option,
                                                             const std::string& text) {
    std::vector<std::optional<LookUpTable>> tables;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        tables.push_back(parse_look_up_table(option, text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return tables;
}

}  // namespace convolume::cli
