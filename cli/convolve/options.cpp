// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume convolve`.

#include "cli/images/options.hpp"

#include <memory>

#include "cli/app.hpp"
#include "cli/convolve/command.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

void add_meaning(CLI::App& app, ConvolveRequest& request) {
    Options& options = request.options;
    const char* group = "What is computed";
    add_options(app, group, options, {"mode", "boundary", "operation"});
    add_kernel_options(app, group, request.kernel_options);
    add_channel_kernel_option(app, group, request);
    add_options(app, group, options, {"normalization", "nan"});
    add_selection_options(app, group, request.selection);
}

void add_output(CLI::App& app, ConvolveRequest& request) {
    const char* group = "What is written";
    add_image_output_options(app, group, request.output, request.output_type, request.create,
                             "the precision's type");
    add_scale_output_option(app, group, request.scale_output);
    add_run_options(app, group, request.run);
}

}  // namespace

void add_convolve_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("convolve", "Convolve an image with a kernel");
    auto request = std::make_shared<ConvolveRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many,
                        {"IMAGE", "TIFF, NPY, file.h5 or file.h5:/dataset; one or many"},
                        {"KERNEL", "The kernel (PSF): one 3D stack of any format"});
    add_meaning(*command, *request);
    add_convolution_options(*command, "How it is computed", request->options, request->engines);
    add_output(*command, *request);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        divide_arguments(*command, *request, *many);
        action = [request, many] { run_images<ConvolveSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
