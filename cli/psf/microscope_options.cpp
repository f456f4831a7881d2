// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/microscope_options.hpp"

#include "cli/psf/image_optics.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string checked_model(const char*, const std::string& text) {
    return static_cast<void>(parse_psf_model(text)), text;
}
std::string checked_modality(const char*, const std::string& text) {
    return static_cast<void>(parse_modality(text)), text;
}

}  // namespace

void add_microscope_options(CLI::App& app, const char* group, Json& typed) {
    // Before --na and --ni, which then go before it.
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
    const auto add = [&](auto... arguments) { add_parameter(app, group, typed, arguments...); };
    add("--model", "model", checked_model, "gaussian|born-wolf|gibson-lanni|vectorial",
        "PSF model (default vectorial)");
    add("--modality", "modality", checked_modality,
        "widefield|confocal|light-sheet|two-photon|spinning-disc",
        "Kind of microscope (default widefield)");
    add("--na", "na", parse_number, "NA", "Numerical aperture");
    add("--excitation", "excitation_um", parse_wavelength_um, "LENGTH",
        "Excitation wavelength (confocal, two-photon, spinning-disc)");
    add("--pinhole", "pinhole_au", parse_number, "AU",
        "Diameter of the pinhole in Airy units, 1.22 wavelength/NA (confocal, default 1)");
    add("--sheet", "sheet_fwhm_um", parse_length_um, "LENGTH",
        "Thickness of the light sheet: full width at half maximum");
    add("--disc-pinhole", "disc_pinhole_um", parse_length_um, "LENGTH",
        "Diameter of the pinholes on the disc, e.g. 50um (spinning-disc)");
    add("--disc-spacing", "disc_spacing_um", parse_length_um, "LENGTH",
        "Distance of their centers on the disc, e.g. 250um (spinning-disc)");
    add("--disc-magnification", "disc_magnification", parse_number, "M",
        "Magnification between sample and disc: lengths in the sample are those on the disc "
        "divided "
        "by it (spinning-disc, default 1: lengths are those in the sample)");
}

void add_layer_options(CLI::App& app, const char* group, Json& typed) {
    const auto add = [&](auto... arguments) { add_parameter(app, group, typed, arguments...); };
    add("--ni", "ni", parse_number, "N", "Index of the immersion medium (default 1.515)");
    add("--ni0", "ni0", parse_number, "N",
        "Index of the immersion medium that the objective is designed for (default: --ni)");
    add("--ng", "ng", parse_number, "N", "Index of the cover glass (default 1.515)");
    add("--ng0", "ng0", parse_number, "N",
        "Index of the cover glass that the objective is designed for (default: --ng)");
    add("--ns", "ns", parse_number, "N", "Index of the sample (default 1.33)");
    add("--ti0", "ti0_um", parse_length_um, "LENGTH",
        "Working distance in the immersion medium that the objective is designed for (default "
        "150um)");
    add("--tg", "tg_um", parse_length_um, "LENGTH", "Thickness of the cover glass (default 170um)");
    add("--tg0", "tg0_um", parse_length_um, "LENGTH",
        "Cover glass thickness that the objective is designed for (default: --tg)");
    add("--depth", "depth_um", parse_length_um, "LENGTH",
        "Depth of the source below the cover glass (default 0um)");
}

}  // namespace convolume::cli
