// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/microscope_options.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "cli/psf/parameters.hpp"
#include "cli/text/option_help.hpp"
#include "core/text.hpp"
#include "operations/optics/image_optics.hpp"

namespace convolume::cli {

namespace {

/// An objective that is described by its name.
struct NamedObjective {
    double na;
    double ni;
};

constexpr std::array common_objectives{
    "10x/0.3 air",      "10x/0.45 air",       "20x/0.5 air",       "20x/0.75 air",
    "20x/0.8 air",      "40x/0.95 air",       "16x/0.8 water",     "20x/1.0 water",
    "25x/1.1 water",    "40x/0.8 water",      "40x/1.15 water",    "60x/1.2 water",
    "63x/1.2 water",    "60x/1.27 water",     "30x/1.05 silicone", "40x/1.25 silicone",
    "60x/1.3 silicone", "100x/1.35 silicone", "63x/1.3 glycerol",  "40x/1.3 oil",
    "60x/1.4 oil",      "63x/1.4 oil",        "60x/1.42 oil",      "100x/1.4 oil",
    "100x/1.45 oil",    "100x/1.49 oil"};

/// Parses a number at the beginning of `rest`, and removes it there.
std::optional<double> parse_leading_number(std::string_view& rest) {
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || !(value > 0)) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

/// Parses a name such as "60x/1.4 oil": magnification, NA and immersion medium, which may be left
/// out for air. Capitals and spaces do not matter. Throws InvalidArgument that names `option`.
NamedObjective parse_objective(std::string_view option, std::string_view text) {
    std::string name = lower_case(text);
    std::erase(name, ' ');
    std::string_view rest = name;
    const auto magnification = parse_leading_number(rest);
    const bool times = rest.starts_with('x');
    if (times) rest.remove_prefix(1);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    const auto na = parse_leading_number(rest);
    const auto index = rest.empty() && na && *na < 1 ? 1.0 : index_of_immersion(rest);
    if (!magnification || !times || !na || !index)
        throw InvalidArgument(message(option, " is \"", text,
                                      "\", and not magnification, NA and medium (air, water, "
                                      "silicone, glycerol, oil); write it like \"60x/1.4 oil\", or "
                                      "see ",
                                      option, " list"));
    return {*na, *index};
}

/// Returns a table of common objectives.
std::string list_of_objectives() {
    std::string text = "name                NA    ni\n";
    for (const char* name : common_objectives) {
        const NamedObjective objective = parse_objective("--objective", name);
        std::string line = name;
        line.resize(20, ' ');
        line += format_number(objective.na);
        line.resize(26, ' ');
        text += line + format_number(objective.ni) + '\n';
    }
    return text + "Others are written the same way: magnification, NA, medium.";
}

}  // namespace

void add_parameters(CLI::App& app, nlohmann::ordered_json& typed,
                    std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        with_option<PsfOptions>(name, [&](const auto& field) {
            add_taken(
                app, field.text.flags,
                [&typed, &field](const std::string& text) {
                    typed[field.text.name] = option_json(parse_option(field, text));
                },
                option_type(field), option_help(field, PsfOptions()));
        });
}

void add_microscope_options(CLI::App& app, nlohmann::ordered_json& typed) {
    // --objective is added before --na and --ni, so that these take precedence.
    add_taken(
        app, "--objective",
        [&typed](const std::string& text) {
            if (text == "list") throw CLI::CallForVersion(list_of_objectives(), 0);
            const NamedObjective objective = parse_objective("--objective", text);
            typed["na"] = objective.na;
            typed["ni"] = objective.ni;
        },
        "NAME|list",
        "NA and immersion medium by the objective's name, e.g. \"60x/1.4 oil\"; list prints "
        "common ones");
    add_parameters(app, typed,
                   {"model", "modality", "na", "excitation_um", "pinhole_au", "sheet_fwhm_um",
                    "disc_pinhole_um", "disc_spacing_um", "disc_magnification", "scan_angle_deg",
                    "scan_axis"});
    app.add_flag_callback(
        "--opposite-scan", [&typed] { typed["scan_opposite"] = true; },
        "Planes of the scan are displaced to lower indices of that axis, not to higher ones");
}

void add_layer_options(CLI::App& app, nlohmann::ordered_json& typed) {
    // Before --ns, so that it takes precedence.
    add_taken(
        app, "--mountant",
        [&typed](const std::string& text) { typed["ns"] = index_of_mountant(text); }, "NAME",
        "Index of the sample by its mounting medium: prolong, prolong-glass, vectashield, "
        "glycerol or water");
    add_parameters(app, typed,
                   {"ni", "ni0", "ng", "ng0", "ns", "ti0_um", "tg_um", "tg0_um", "depth_um"});
}

}  // namespace convolume::cli
