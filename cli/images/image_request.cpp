// SPDX-License-Identifier: Apache-2.0
#include "cli/images/image_request.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <utility>

#include "cli/images/file_names.hpp"
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

/// Splits "12=name" into channel and name. Returns false if `text` is not like that.
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

void take_kernel(ImageRequest& request, ManyFilesRequest& many) {
    std::vector<std::string>& words = many.images;
    const std::size_t images = many.list.empty() ? 1 : 0;  // images that must be named
    if (words.size() < images)
        throw InvalidArgument(
            message(many.image_name, " is missing; give one or several, then ", many.kernel_name));
    MadePsfRequest& made = request.made_psf;
    if (made.is_offered && made.any_typed()) {
        if (words.size() == 2 && many.list.empty() && !request.output.empty())
            throw InvalidArgument(message("a ", many.kernel_name, " was named, \"", words.back(),
                                          "\", and options of one that is to be made were given; "
                                          "leave out the one or the other"));
        made.is_needed = true;
    } else if (words.size() > images) {
        request.kernel = words.back();
        words.pop_back();
    } else if (made.is_offered && request.channel_kernels.empty()) {
        made.is_needed = true;
    } else if (request.channel_kernels.empty()) {
        throw InvalidArgument(message(many.kernel_name,
                                      " is missing; name its file after the last ", many.image_name,
                                      ", or a kernel for each channel with --psf-for"));
    }
    const KernelOptions& options = request.kernel_options;
    if (request.kernels().empty() && !(options.axes.empty() && options.image.empty()))
        throw InvalidArgument(
            "--kernel-axes and --kernel-image are for kernel files, and the PSF is made; leave "
            "them out, or name a file");
    for (const std::string& kernel : request.kernels()) check_kernel_path(kernel);
}

void check_one(const CLI::App& app) {
    for (const char* option : {"--output-name", "--resume"})
        if (app.count(option) > 0)
            throw InvalidArgument(message(option,
                                          " goes with --output-dir; name the folder for "
                                          "the results, or leave it out"));
}

void check_many(const ImageRequest& request, const ManyFilesRequest& many) {
    if (!request.output.empty())
        throw InvalidArgument(message("-o names one file, but ",
                                      many.list.empty() && many.images.size() == 1
                                          ? "--output-dir or a pattern is given as well"
                                          : "several images are named",
                                      "; give --output-dir DIR alone for the results"));
    if (many.output_folder.empty() && !request.run.dry_run)
        throw InvalidArgument(
            "several images are named; give --output-dir DIR for the results, or --dry-run for "
            "the plans alone");
    if (!request.run.timeline.empty())
        throw InvalidArgument("--timeline is of one image; leave it out, or name one image and -o");
    if (many.resume && request.create.overwrite)
        throw InvalidArgument(
            "--resume keeps the results that are complete and --overwrite replaces them; give one "
            "of the two");
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
            kernels.back().path += "," + piece;  // the comma belongs to the name
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
        if (!request.made_psf.is_needed)
            throw InvalidArgument(
                message("there is no kernel for channel ", numbers[c], " of \"", request.image,
                        "\"; name it in --psf-for, or give a kernel that serves the channels that "
                        "--psf-for does not name"));
        kernels[c].psf = std::make_shared<const MadePsf>(
            made_psf(request.made_psf, {request.image, selected, static_cast<index_t>(c)}));
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
    const char* group = "The PSF, if no file is given";
    request.is_offered = true;
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
        "Fraction of light that the PSF contains, as of psf --like (default 0.95; widefield: 0.5 "
        "of planes out of focus)")
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

void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel) {
    // The last argument is the kernel, and options may stand between the arguments. All arguments
    // are therefore collected as images; the second argument only appears in --help.
    many.image_name = image.name;
    many.kernel_name = kernel.name;
    app.add_option(image.name, many.images, image.help)->type_name("")->expected(0, -1);
    app.add_option_function<std::string>(
           kernel.name, [](const std::string&) {}, kernel.help)
        ->type_name("");
}

void add_channel_kernel_option(CLI::App& app, const char* group, ImageRequest& request) {
    add_parsed(app, "--psf-for,--kernel-for", request.channel_kernels, parse_channel_kernels,
               "N=FILE,…",
               "Kernels of some channels, numbered as for --channel; the others take the last "
               "argument, which may be left out after one image or --list")
        ->group(group);
}

void add_many_files_options(CLI::App& app, ManyFilesRequest& many) {
    const char* group = "Many files";
    app.add_option("--list", many.list,
                   "Images in a text file, one path a line; - is standard input")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--output-dir", many.output_folder,
                   "Folder of the results; made if it does not exist")
        ->type_name("DIR")
        ->group(group);
    add_parsed(app, "--output-name", many.output_name, parse_output_name, "PATTERN",
               "Names of the results, with {stem}, {name}, {index}, {dataset} (default {stem} and "
               "the image's extension)")
        ->group(group);
    app.add_flag("--resume", many.resume, "Skip images whose result is complete")->group(group);
}

void divide_arguments(const CLI::App& app, ImageRequest& request, ManyFilesRequest& many) {
    take_kernel(request, many);
    many.is_many = !many.list.empty() || !many.output_folder.empty() || many.images.size() != 1 ||
                   is_pattern(many.images.front());
    many.has_option = [&app](std::string_view name) {
        return app.get_option_no_throw(std::string(name)) != nullptr;
    };
    if (many.is_many) {
        check_many(request, many);
        return;
    }
    check_one(app);
    request.image = many.images.front();
    require_output(request.output, request.run);
}

}  // namespace convolume::cli
