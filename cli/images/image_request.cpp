// SPDX-License-Identifier: Apache-2.0
#include "cli/images/image_request.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <utility>

#include "cli/psf/image_optics.hpp"
#include "cli/psf/microscope_options.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

void add_once(std::vector<std::string>& paths, const std::string& path) {
    if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end())
        paths.push_back(path);
}

/// "12=name" into channel and name; false where `text` does not begin with a number and "=".
bool split_channel(std::string_view text, ChannelKernel& kernel) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), kernel.channel);
    if (error != std::errc() || kernel.channel < 0 || end == text.data() + text.size() ||
        *end != '=')
        return false;
    kernel.path.assign(end + 1, text.data() + text.size());
    return true;
}

std::string listed(const std::vector<index_t>& numbers) {
    std::string text;
    for (const index_t number : numbers) text += message(text.empty() ? "" : ", ", number);
    return text;
}

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

std::vector<std::string> ImageRequest::kernels() const {
    std::vector<std::string> paths;
    add_once(paths, kernel);
    for (const ChannelKernel& one : channel_kernels) add_once(paths, one.path);
    return paths;
}

std::vector<std::string> ImageRequest::inputs() const {
    std::vector<std::string> paths = kernels();
    paths.insert(paths.begin(), image);
    return paths;
}

std::vector<ChannelKernel> parse_channel_kernels(std::string_view option, const std::string& text) {
    constexpr const char* cure = "; give a kernel for each channel, for example 0=a.tif,1=b.tif";
    std::vector<ChannelKernel> kernels;
    std::istringstream pieces(text);
    for (std::string piece; std::getline(pieces, piece, ',');) {
        ChannelKernel kernel;
        if (split_channel(piece, kernel))
            kernels.push_back(kernel);
        else if (!kernels.empty())
            kernels.back().path += "," + piece;  // a comma of the name
        else
            throw InvalidArgument(message(option, " is \"", text, "\"", cure));
    }
    if (kernels.empty()) throw InvalidArgument(message(option, " is empty", cure));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (kernels[i].path.empty())
            throw InvalidArgument(
                message(option, " names no file for channel ", kernels[i].channel, cure));
        for (std::size_t j = 0; j < i; ++j)
            if (kernels[j].channel == kernels[i].channel)
                throw InvalidArgument(
                    message(option, " names channel ", kernels[i].channel, " twice", cure));
    }
    return kernels;
}

std::string KernelSource::name() const {
    return psf ? "psf " + psf_parameters(psf->options).dump() : path;
}

std::vector<KernelSource> kernel_of_each_channel(const ImageRequest& request,
                                                 const io::ImageMetadata& selected) {
    const std::vector<index_t> numbers = selected_channels(request.selection, selected.channels);
    std::vector<KernelSource> kernels(numbers.size());
    for (const ChannelKernel& one : request.channel_kernels) {
        bool found = false;
        for (std::size_t c = 0; c < numbers.size(); ++c)
            if (numbers[c] == one.channel) {
                kernels[c].path = one.path;
                found = true;
            }
        if (!found)
            throw InvalidArgument(message("--psf-for names channel ", one.channel,
                                          ", but the channels of \"", request.image, "\" are ",
                                          listed(numbers), "; name those only"));
    }
    for (std::size_t c = 0; c < numbers.size(); ++c) {
        if (!kernels[c].path.empty()) continue;
        kernels[c].path = request.kernel;
        if (!request.kernel.empty()) continue;
        if (!request.made_psf.asked)
            throw InvalidArgument(
                message("there is no kernel for channel ", numbers[c], " of \"", request.image,
                        "\"; name it in --psf-for, or give a kernel that serves the channels that "
                        "--psf-for does not name"));
        kernels[c].psf = std::make_shared<const MadePsf>(
            made_psf(request.made_psf, {request.image, selected, static_cast<index_t>(c)}));
    }
    return kernels;
}

std::string problem_of(const KernelSource& kernel, const io::ImageMetadata& image) {
    TextStream text;
    text << std::setprecision(17) << to_string(image.shape) << ' ' << to_string(image.type);
    for (const auto& size : image.voxel_size_um) {
        text << ' ';
        if (size)
            text << *size;
        else
            text << '?';
    }
    text << ' ' << kernel.name();
    return text.str();
}

void expect_volumes(ExpectedVolumes& expected, const std::vector<KernelSource>& kernels,
                    const io::ImageMetadata& image) {
    for (const KernelSource& kernel : kernels) expected[problem_of(kernel, image)] += image.frames;
}

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
        if (!parameters.contains(key) && needs_parameter(parameters, key))
            throw InvalidArgument(message("no PSF was named for \"", image.path,
                                          "\", and none can be made without the ", what, "; give ",
                                          option, ", or name the PSF's file after the image"));
    parameters["voxel_um"] = psf_voxel_for(image.metadata, image.path, "add --voxel");
    if (!parameters.contains("size")) parameters["size"] = {0, 0, 0};
    PsfOptions psf = psf_options_of(std::move(parameters), "the command line");
    refuse_unused_layers(psf, request.typed);
    return {std::move(psf), optics.line("the image's metadata"), std::move(optics.warnings)};
}

}  // namespace convolume::cli
