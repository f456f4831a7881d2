// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/microscope_options.hpp"

#include "cli/psf/image_optics.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

void add_parameters(CLI::App& app, const char* group, nlohmann::ordered_json& typed,
                    std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        with_option<PsfOptions>(name, [&](const auto& field) {
            app.add_option_function<std::string>(
                   field.text.flags,
                   [&typed, &field](const std::string& text) {
                       typed[field.text.name] = option_json(parse_option(field, text));
                   },
                   option_help(field, PsfOptions()))
                ->type_name(option_type(field))
                ->group(group);
        });
}

void add_microscope_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed) {
    // --objective is added before --na and --ni, so that these take precedence.
    app.add_option_function<std::string>(
           "--objective",
           [&typed](const std::string& text) {
               if (text == "list") throw CLI::CallForVersion(list_of_objectives(), 0);
               const NamedObjective objective = parse_objective("--objective", text);
               typed["na"] = objective.na;
               typed["ni"] = objective.ni;
           },
           "NA and immersion medium by the objective's name, e.g. \"60x/1.4 oil\"; list prints "
           "common ones")
        ->type_name("NAME|list")
        ->group(group);
    add_parameters(app, group, typed,
                   {"model", "modality", "na", "excitation_um", "pinhole_au", "sheet_fwhm_um",
                    "disc_pinhole_um", "disc_spacing_um", "disc_magnification"});
}

void add_layer_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed) {
    // Before --ns, so that it takes precedence.
    app.add_option_function<std::string>(
           "--mountant",
           [&typed](const std::string& text) { typed["ns"] = index_of_mountant(text); },
           "Index of the sample by its mounting medium: prolong, prolong-glass, vectashield, "
           "glycerol or water")
        ->type_name("NAME")
        ->group(group);
    add_parameters(app, group, typed,
                   {"ni", "ni0", "ng", "ng0", "ns", "ti0_um", "tg_um", "tg0_um", "depth_um"});
}

}  // namespace convolume::cli
