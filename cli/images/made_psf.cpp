// SPDX-License-Identifier: Apache-2.0
#include "cli/images/made_psf.hpp"

#include <sstream>
#include <tuple>
#include <utility>

#include "cli/psf/image_optics.hpp"
#include "cli/psf/microscope_options.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/size_for.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::vector<double> parse_wavelengths_um(std::string_view option, const std::string& text) {
    std::vector<double> wavelengths;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
        wavelengths.push_back(parse_wavelength_um(option, part));
    return wavelengths;
}

double wavelength_of(const std::vector<double>& typed, const ImageChannel& image) {
    const auto count = static_cast<index_t>(typed.size());
    if (count > 1 && count != image.metadata.channels)
        throw InvalidArgument(message("--wavelength names ", count, " wavelengths, but \"",
                                      image.path, "\" has ", image.metadata.channels,
                                      " channels; give one for each of them, or one for all"));
    return typed[count > 1 ? static_cast<std::size_t>(image.channel) : 0];
}

}  // namespace

void add_made_psf_options(CLI::App& app, MadePsfRequest& request) {
    const char* group = "The PSF, if no file is given";
    request.offered = true;
    add_microscope_options(app, group, request.typed);
    add_parsed(app, "--wavelength", request.wavelengths_um, parse_wavelengths_um, "LENGTH,…",
               "Emission wavelength in vacuum: one for all channels, or one for each, e.g. "
               "520nm,610nm")
        ->group(group);
    add_layer_options(app, group, request.typed);
    app.add_option_function<std::string>(
           "--psf-size",
           [&request](const std::string& text) {
               request.typed["size"] = option_json(parse_extents("--psf-size", text));
           },
           "Voxels of the PSF, odd along every axis (default: what the image needs, as psf --like)")
        ->type_name("Z,Y,X")
        ->group(group);
    add_parsed(
        app, "--capture", request.capture, parse_number, "SHARE",
        "Fraction of light that the PSF contains, as of psf --like (default 0.95; widefield: "
        "0.5)")
        ->group(group);
}

MadePsf made_psf(const MadePsfRequest& request, const ImageChannel& image) {
    Json typed = request.typed;
    if (!request.wavelengths_um.empty())
        typed["wavelength_um"] = wavelength_of(request.wavelengths_um, image);
    ImageOptics optics = optics_of(image.metadata, image.channel, typed);
    Json parameters = std::move(optics.parameters);
    parameters.update(typed);
    for (const auto& [key, option, what] :
         {std::tuple{"na", "--na", "numerical aperture"},
          {"wavelength_um", "--wavelength", "wavelength of emission"}})
        if (!parameters.contains(key) && needs(parameters, key))
            throw InvalidArgument(message("no PSF was named for \"", image.path,
                                          "\", and none can be made without the ", what, "; give ",
                                          option, ", or name the PSF's file after the image"));
    parameters["voxel_um"] = voxel_for(image.metadata, image.path, "add --voxel");
    if (!parameters.contains("size")) parameters["size"] = {0, 0, 0};
    PsfOptions psf = psf_options_of(std::move(parameters), "the command line");
    refuse_idle_layers(psf, request.typed);
    return {std::move(psf), optics.line("the image's metadata"), std::move(optics.warnings)};
}

}  // namespace convolume::cli
