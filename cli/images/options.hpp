// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of subcommands that take one image or many, and a kernel.

#include <CLI/CLI.hpp>

#include "cli/images/image_request.hpp"

namespace convolume::cli {

/// An argument in --help: "IMAGE" and what it is.
struct ArgumentHelp {
    const char* name;
    const char* help;
};

/// IMAGE… KERNEL; what is typed is kept in `many` until divide_arguments().
void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel);

/// --psf-for, a kernel for each channel.
void add_channel_kernel_option(CLI::App& app, const char* group, ImageRequest& request);

/// --list, --output-dir, --output-name and --resume.
void add_many_files_options(CLI::App& app, ManyFilesRequest& many);

/// Says which argument is the kernel, and whether there are many images. Throws InvalidArgument
/// where an argument is missing or options do not go together.
void divide_arguments(const CLI::App& app, ImageRequest& request, ManyFilesRequest& many);

}  // namespace convolume::cli
