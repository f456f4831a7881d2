// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/objectives.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// Indices at 23 °C and about 550 nm.
constexpr std::array<std::pair<std::string_view, double>, 10> media{{{"air", 1.0},
                                                                     {"dry", 1.0},
                                                                     {"water", 1.33},
                                                                     {"dipping", 1.33},
                                                                     {"waterdipping", 1.33},
                                                                     {"silicone", 1.4},
                                                                     {"glycerol", 1.45},
                                                                     {"glycerin", 1.45},
                                                                     {"gly", 1.45},
                                                                     {"oil", 1.515}}};

constexpr std::array common{
    "10x/0.3 air",      "10x/0.45 air",       "20x/0.5 air",       "20x/0.75 air",
    "20x/0.8 air",      "40x/0.95 air",       "16x/0.8 water",     "20x/1.0 water",
    "25x/1.1 water",    "40x/0.8 water",      "40x/1.15 water",    "60x/1.2 water",
    "63x/1.2 water",    "60x/1.27 water",     "30x/1.05 silicone", "40x/1.25 silicone",
    "60x/1.3 silicone", "100x/1.35 silicone", "63x/1.3 glycerol",  "40x/1.3 oil",
    "60x/1.4 oil",      "63x/1.4 oil",        "60x/1.42 oil",      "100x/1.4 oil",
    "100x/1.45 oil",    "100x/1.49 oil"};

/// Small letters without spaces.
std::string plain(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (c != ' ') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Takes a number off the front of `rest`.
std::optional<double> take_number(std::string_view& rest) {
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || !(value > 0)) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

}  // namespace

std::optional<double> index_of_immersion(std::string_view medium) {
    const std::string name = plain(medium);
    for (const auto& [known, index] : media)
        if (name == known) return index;
    return std::nullopt;
}

NamedObjective parse_objective(std::string_view option, std::string_view text) {
    const std::string name = plain(text);
    std::string_view rest = name;
    const auto magnification = take_number(rest);
    const bool times = rest.starts_with('x');
    if (times) rest.remove_prefix(1);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    const auto na = take_number(rest);
    const auto index = rest.empty() && na && *na < 1 ? 1.0 : index_of_immersion(rest);
    if (!magnification || !times || !na || !index)
        throw InvalidArgument(message(option, " is \"", text,
                                      "\", and not magnification, NA and medium (air, water, "
                                      "silicone, glycerol, oil); write it like \"60x/1.4 oil\", or "
                                      "see ",
                                      option, " list"));
    return {*magnification, *na, *index};
}

std::string list_of_objectives() {
    std::string text = "name                NA    ni\n";
    for (const char* name : common) {
        const NamedObjective objective = parse_objective("--objective", name);
        std::string line = name;
        line.resize(20, ' ');
        line += format_number(objective.na);
        line.resize(26, ' ');
        text += line + format_number(objective.ni) + '\n';
    }
    return text + "Others are written the same way: magnification, NA, medium.";
}

}  // namespace convolume::cli
