// SPDX-License-Identifier: Apache-2.0
#include "cli/images/options.hpp"

#include "cli/images/file_names.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

void take_kernel(ImageRequest& request, ManyFilesRequest& many) {
    std::vector<std::string>& words = many.images;
    const std::size_t images = many.list.empty() ? 1 : 0;  // that there must be
    if (words.size() < images)
        throw InvalidArgument(
            message(many.image_name, " is missing; give one or several, then ", many.kernel_name));
    MadePsfRequest& made = request.made_psf;
    if (made.offered && made.any_typed()) {
        if (words.size() == 2 && many.list.empty() && !request.output.empty())
            throw InvalidArgument(message("a ", many.kernel_name, " was named, \"", words.back(),
                                          "\", and options of one that is to be made were given; "
                                          "leave out the one or the other"));
        made.asked = true;
    } else if (words.size() > images) {
        request.kernel = words.back();
        words.pop_back();
    } else if (made.offered && request.channel_kernels.empty()) {
        made.asked = true;
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

void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel) {
    // Options may stand anywhere between the arguments, so that only the end of the line tells
    // which one is the last: all go to the first of the two, the second is there for --help.
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
    many.asked = !many.list.empty() || !many.output_folder.empty() || many.images.size() != 1 ||
                 is_pattern(many.images.front());
    many.has_option = [&app](std::string_view name) {
        return app.get_option_no_throw(std::string(name)) != nullptr;
    };
    if (many.asked) {
        check_many(request, many);
        return;
    }
    check_one(app);
    request.image = many.images.front();
    require_output(request.output, request.run);
}

}  // namespace convolume::cli
