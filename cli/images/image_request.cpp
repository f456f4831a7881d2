// SPDX-License-Identifier: Apache-2.0
#include "cli/images/image_request.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <tuple>
#include <utility>

#include "cli/images/depth_kernels.hpp"
#include "cli/psf/microscope_options.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

void add_once(std::vector<std::string>& paths, const std::string& path) {
    if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end())
        paths.push_back(path);
}

using Json = nlohmann::ordered_json;

std::vector<double> parse_wavelengths_um(std::string_view option, const std::string& text) {
    std::vector<double> wavelengths;
    for (const std::string& part : pieces_of(text, ','))
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

index_t ImageRequest::ordered_kernels() const {
    return std::count_if(channel_kernels.begin(), channel_kernels.end(),
                         [](const ChannelKernel& one) { return one.channel.empty(); });
}

std::vector<std::string> ImageRequest::inputs() const {
    std::vector<std::string> paths = ImageFiles::inputs();
    for (std::string& kernel_path : kernels()) paths.push_back(std::move(kernel_path));
    return paths;
}

RunFiles ImageRequest::files() const {
    RunFiles all = ImageFiles::files();
    all.inputs = inputs();
    return all;
}

std::string KernelSource::name() const {
    if (gaussian)
        return message("gaussian ", gaussian->in_voxels, " ", format_number(gaussian->sigma[0], 17),
                       " ", format_number(gaussian->sigma[1], 17), " ",
                       format_number(gaussian->sigma[2], 17));
    TextStream text;
    text << (psf ? "psf " + psf_parameters(psf->options).dump() : path);
    if (!deeper.empty()) text << " at " << format_number(depth_um, 17);
    for (const KernelSource& one : deeper)
        text << ", " << one.name() << " at " << format_number(one.depth_um, 17);
    return text.str();
}

std::vector<KernelSource> kernel_of_each_channel(const ImageRequest& request,
                                                 const SelectedImage& image) {
    const ChannelNames channels = image.channel_names();
    const std::size_t count = channels.numbers.size();
    std::vector<KernelSource> kernels(count);
    if (request.takes_depths)
        if (const auto depths = named_depths(request, channels))
            return std::vector<KernelSource>(count, *depths);
    KernelChannels named{"--psf",
                         request.image,
                         {},
                         request.made_psf.is_needed,
                         "; for several images, give --output-dir in place of -o"};
    for (const ChannelKernel& one : request.channel_kernels) named.named.push_back(one.channel);
    if (!request.kernel.empty() || request.gaussian) named.named.emplace_back();
    const auto indices = kernels_of_channels(named, channels);
    for (std::size_t c = 0; c < count; ++c) {
        if (indices[c] && *indices[c] < request.channel_kernels.size()) {
            kernels[c].path = request.channel_kernels[*indices[c]].path;
            continue;
        }
        kernels[c].path = request.kernel;
        kernels[c].gaussian = request.gaussian;
        if (indices[c]) continue;
        const ImageChannel channel{request.image, image.metadata(), static_cast<index_t>(c)};
        const auto psf = std::make_shared<const MadePsf>(made_psf(request.made_psf, channel));
        if (request.made_psf.depth_range_um)
            kernels[c] = made_depths(request.made_psf, *psf, channel);
        else
            kernels[c].psf = psf;
    }
    return kernels;
}

std::string solver_key(const KernelSource& kernel, const io::ImageMetadata& image) {
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

void add_expected_volumes(ExpectedVolumes& expected, const std::vector<KernelSource>& kernels,
                          const io::ImageMetadata& image) {
    for (const KernelSource& kernel : kernels) expected[solver_key(kernel, image)] += image.frames;
}

void add_made_psf_options(CLI::App& app, MadePsfRequest& request) {
    begin_group(app, "PSF, if no file is given");
    request.is_offered = true;
    add_microscope_options(app, request.typed);
    add_parsed(app, "--wavelength", request.wavelengths_um, parse_wavelengths_um, "LENGTH,…",
               "Emission wavelength in vacuum: one for all channels, or one for each, e.g. "
               "520nm,610nm");
    add_layer_options(app, request.typed);
    add_taken(
        app, "--psf-size",
        [&request](const std::string& text) {
            request.typed["size"] = option_json(parse_extents("--psf-size", text));
        },
        "Z,Y,X",
        "Voxels of the PSF, odd along every axis (default: what the image needs, as psf --like)");
    add_parsed(
        app, "--capture", request.capture, parse_number, "SHARE",
        "Fraction of light that the PSF contains, as of psf --like (default 0.95; widefield: 0.5 "
        "of planes out of focus)");
}

namespace {

/// Gives the PSF planes that reach `reach_um` above and below the image's only one. They are at
/// most a depth of focus apart, nᵢ λ/NA². Returns the number of planes on one side, and the
/// image's.
index_t add_planes_out_of_focus(PsfOptions& psf, double reach_um, const ImageChannel& image) {
    if (image.metadata.shape.z != 1)
        throw InvalidArgument(message("--out-of-focus is for images of one plane, and \"",
                                      image.path, "\" has ", image.metadata.shape.z,
                                      ", whose light the PSF accounts for; leave it out"));
    if (psf.size != Shape3{0, 0, 0})
        throw InvalidArgument(
            "--out-of-focus chooses the planes of the PSF, and so does --psf-size; leave out the "
            "one or the other");
    PsfOptions one = psf;
    one.size = {1, 1, 1};
    const double depth_um = psf_facts(one).rayleigh_axial_um / 2;
    const double planes = std::ceil(reach_um / depth_um);
    constexpr double most = 1000;
    if (planes > most)
        throw InvalidArgument(message("--out-of-focus ", reach_um, " um is ", planes,
                                      " depths of focus; give the thickness of the specimen"));
    psf.voxel.z_um = reach_um / planes;
    return static_cast<index_t>(planes) + 1;
}

}  // namespace

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
    if (psf.scan() && (request.out_of_focus_um || request.depth_range_um))
        throw InvalidArgument(
            message("a PSF for a stage scan (--scan-angle) is the same in all planes, so that ",
                    request.out_of_focus_um ? "--out-of-focus" : "--depth-range",
                    " does not apply; leave out the one or the other"));
    std::optional<index_t> stack_planes;
    if (request.out_of_focus_um)
        stack_planes = add_planes_out_of_focus(psf, *request.out_of_focus_um, image);
    return {std::move(psf), stack_planes, optics.line("the image's metadata"),
            std::move(optics.warnings)};
}

}  // namespace convolume::cli
