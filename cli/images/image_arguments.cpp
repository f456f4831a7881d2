// SPDX-License-Identifier: Apache-2.0
// The arguments IMAGE… KERNEL, and their division into images and kernels.

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/images/file_names.hpp"
#include "cli/images/image_request.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

bool exists(const std::string& path) {
    std::error_code unreadable;
    return is_url(path) || std::filesystem::exists(io::parse_path(path).file, unreadable);
}

/// Moves the only kernel without a channel from `channel_kernels` to `kernel`.
void take_common_kernel(ImageRequest& request) {
    std::vector<ChannelKernel>& kernels = request.channel_kernels;
    if (request.ordered_kernels() == 1) {
        const auto common =
            std::find_if(kernels.begin(), kernels.end(),
                         [](const ChannelKernel& kernel) { return kernel.channel.empty(); });
        request.kernel = common->path;
        kernels.erase(common);
    }
}

/// Returns the number of words that are images, at least; the rest may be kernels. With --stack,
/// a folder or pattern is the whole image, and several files are all of it but the last.
std::size_t fewest_images(const ImageRequest& request, const ManyFilesRequest& many) {
    const std::vector<std::string>& words = many.images;
    const bool is_stack = !request.selection.stack.empty();
    if (!many.list.empty()) return is_stack || words.empty() ? 0 : words.size() - 1;
    std::error_code unreadable;
    const bool is_one = request.selection.stack.empty()
                            ? !request.output.empty()
                            : words.front().find_first_of("*?[") != std::string::npos ||
                                  std::filesystem::is_directory(words.front(), unreadable);
    return is_one ? 1 : std::max<std::size_t>(words.size() - 1, 1);
}

/// Takes the kernels from the end of the words.
void take_named_kernels(ImageRequest& request, ManyFilesRequest& many, std::size_t images) {
    std::vector<std::string>& words = many.images;
    if (words.size() - images > 1 && !request.channel_kernels.empty())
        throw InvalidArgument(message("--psf names kernels of channels, and ",
                                      words.size() - images, " files are named after \"",
                                      words.front(), "\"; name one, for the other channels"));
    if (words.size() - images == 1)
        request.kernel = words.back();
    else
        for (std::size_t i = images; i < words.size(); ++i)
            request.channel_kernels.push_back({"", words[i]});
    words.resize(images);
}

void take_kernel(ImageRequest& request, ManyFilesRequest& many) {
    std::vector<std::string>& words = many.images;
    if (words.empty() && many.list.empty())
        throw InvalidArgument(
            message(many.image_name, " is missing; give one or several, then ", many.kernel_name));
    const std::size_t images = fewest_images(request, many);
    const std::size_t rest = words.size() - std::min(words.size(), images);
    MadePsfRequest& made = request.made_psf;
    take_common_kernel(request);
    const bool is_typed = made.is_offered && made.any_typed();
    const bool is_named = !request.kernel.empty() || request.ordered_kernels() > 0;
    const bool is_second = rest > 0 && request.selection.stack.empty() && !request.output.empty();
    if (is_typed || request.gaussian) {
        if (is_second || is_named)
            throw InvalidArgument(message("a ", many.kernel_name, " was named, \"",
                                          is_second ? words.back() : request.kernels().front(),
                                          "\", and options of one that is to be made were given; "
                                          "leave out the one or the other"));
        made.is_needed = is_typed;
    } else if (is_named) {
        if (is_second)
            throw InvalidArgument(message("--psf names the ", many.kernel_name, ", and \"",
                                          words.back(),
                                          "\" is named after the image; leave out "
                                          "the one or the other"));
    } else if (rest > 0) {
        take_named_kernels(request, many, images);
    } else if (made.is_offered && request.channel_kernels.empty()) {
        made.is_needed = true;
    } else if (request.channel_kernels.empty()) {
        throw InvalidArgument(message(many.kernel_name,
                                      " is missing; name its file after the last ", many.image_name,
                                      ", or with --psf FILE"));
    }
    const KernelOptions& options = request.kernel_options;
    if (request.kernels().empty() && !(options.axes.empty() && options.image.empty()))
        throw InvalidArgument(
            "--kernel-axes and --kernel-image are for kernel files, and the PSF is made; leave "
            "them out, or name a file");
    for (const std::string& kernel : request.kernels()) check_kernel_path(kernel);
}

/// Refuses a last argument that can only be the result.
void refuse_output_without_option(const ImageRequest& request, const ManyFilesRequest& many) {
    const std::vector<std::string>& words = many.images;
    if (words.size() < 2 || !request.output.empty() || !many.output_folder.empty() ||
        is_pattern(words.back()) || io::is_name_template(words.back()) || exists(words.back()))
        return;
    throw InputNotFound(message("there is no file \"", words.back(),
                                "\"; if it is the result, name it by -o \"", words.back(), '"'));
}

/// Makes one image of the words that are files of a stack.
void take_stack(ImageRequest& request, ManyFilesRequest& many) {
    if (!many.output_folder.empty())
        throw InvalidArgument(
            "--stack makes one image, and --output-dir is for several; give -o OUT");
    std::vector<std::string> files = std::exchange(many.images, {});
    if (!many.list.empty())
        for (std::string& file : read_file_list(std::exchange(many.list, {})))
            files.push_back(std::move(file));
    if (files.empty())
        throw InputNotFound("the list of --stack names no file; give one path a line");
    many.images = {files.front()};
    if (files.size() > 1) request.selection.stack_files = std::move(files);
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
            "several images are named; give --output-dir DIR for their results, or -o OUT if one "
            "image and a kernel for each of its channels were meant");
    if (!request.run.timeline.empty())
        throw InvalidArgument("--timeline is of one image; leave it out, or name one image and -o");
    if (many.resume && request.create.overwrite)
        throw InvalidArgument(
            "--resume keeps the results that are complete and --overwrite replaces them; give one "
            "of the two");
}

}  // namespace

void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel) {
    // The last argument is the kernel, and options may stand between the arguments. All arguments
    // are therefore collected as images; the second argument only appears in --help.
    many.image_name = image.name;
    many.kernel_name = kernel.name;
    add_value(app, image.name, many.images, "", image.help)->expected(0, -1);
    add_taken(
        app, kernel.name, [](const std::string&) {}, "", kernel.help);
}

void add_channel_kernel_option(CLI::App& app, ImageRequest& request) {
    const auto add = [&request](const std::vector<std::string>& texts) {
        request.channel_kernels = parse_channel_kernels("--psf", texts);
    };
    std::string help =
        "The kernel in place of the last argument; given several times, one for each channel in "
        "their order, or for channels by number or name, as --psf DAPI=a.tif";
    if (request.takes_depths) help += ", or for distances from the first plane, as --psf 5um=a.tif";
    app.add_option_function<std::vector<std::string>>("-p,--psf,--kernel,--psf-for,--kernel-for",
                                                      add, help)
        ->allow_extra_args(false)
        ->type_name(request.takes_depths ? "[CHANNEL|DEPTH=]FILE" : "[CHANNEL=]FILE");
}

void add_many_files_options(CLI::App& app, ManyFilesRequest& many) {
    begin_group(app, "Many files");
    add_value(app, "--list", many.list, "FILE",
              "Images in a text file, one path a line; - is standard input");
    add_value(app, "--output-dir", many.output_folder, "DIR",
              "Folder of the results; made if it does not exist");
    add_parsed(app, "--output-name", many.output_name, parse_output_name, "PATTERN",
               "Names of the results, with {stem}, {name}, {index}, {dataset} (default {stem} and "
               "the image's extension)");
    app.add_flag("--resume", many.resume, "Skip images whose result is complete");
}

void divide_arguments(const CLI::App& app, ImageRequest& request, ManyFilesRequest& many) {
    refuse_output_without_option(request, many);
    take_kernel(request, many);
    if (!request.selection.stack.empty()) take_stack(request, many);
    many.is_many = request.selection.stack.empty() &&
                   (!many.list.empty() || !many.output_folder.empty() || many.images.size() != 1 ||
                    is_pattern(many.images.front()));
    many.has_kernel_option = app.count("--psf") > 0;
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
