// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume deconvolve`.

#include "cli/many_files/options.hpp"

#include <memory>

#include "cli/app.hpp"
#include "cli/deconvolve/command.hpp"
#include "cli/files/image_output.hpp"
#include "cli/files/scaled_output.hpp"
#include "cli/many_files/many_files.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

/// Nothing stands for "auto".
std::optional<double> parse_image_background(std::string_view option, const std::string& text) {
    if (text == "auto") return {};
    return parse_number(option, text);
}

void add_meaning(CLI::App& app, DeconvolveRequest& request) {
    DeconvolveOptions& options = request.options;
    const char* group = "What is computed";
    add_parsed(app, "--method", options.method, parse_deconvolve_method, "rl|rl-tv|wiener",
               "Richardson-Lucy (rl, the default), Richardson-Lucy with total variation (rl-tv), "
               "or Wiener")
        ->group(group);
    add_parsed(app, "--iterations", options.iterations, parse_positive<int>, "N",
               "Maximum number of iterations (default 30)")
        ->group(group);
    add_parsed(
        app, "--stop", options.stop, parse_number, "X",
        "Stop when an iteration lowers the misfit by less than this fraction; for wiener, when "
        "the residual is at most this (default: never; wiener: 0.001)")
        ->group(group);
    add_parsed(app, "--acceleration", options.acceleration, parse_acceleration,
               "biggs-andrews|none", "Acceleration of rl and rl-tv (default biggs-andrews)")
        ->group(group);
    add_parsed(
        app, "--background", options.background, parse_image_background, "N|auto",
        "Level of the image without light; auto: the level that most pixels are near (default "
        "0)")
        ->group(group);
    add_parsed(app, "--edges", options.boundary, parse_edges,
               "extend|zero|nearest|reflect|mirror|wrap",
               "The object beyond the image's edges: estimated (extend, the default) or given by a "
               "boundary condition")
        ->group(group);
    add_parsed(app, "--tv", options.tv_weight, parse_number, "W",
               "Weight of the total variation of rl-tv (default 0.002)")
        ->group(group);
    add_parsed(app, "--noise-to-signal", options.noise_to_signal, parse_number, "K",
               "Noise-to-signal power ratio for wiener (default 0.01)")
        ->group(group);
    add_kernel_options(app, group, request.kernel_options);
    add_channel_kernel_option(app, group, request);
    add_selection_options(app, group, request.selection);
}

void add_execution(CLI::App& app, DeconvolveRequest& request) {
    const char* group = "How it is computed";
    add_device_option(app, group, request.engines);
    add_gpu_memory_option(app, group, request.engines);
    add_host_memory_option(app, group, request.options.max_host_bytes);
    add_engine_threads_option(app, group, request.engines);
}

void refuse_idle(const CLI::App& command, const char* option, const char* method) {
    if (command.count(option) > 0)
        throw InvalidArgument(
            message(option, " does not apply to --method ", method, "; leave it out"));
}

void check_method(const CLI::App& command, DeconvolveMethod method) {
    const char* const name = to_string(method);
    if (method != DeconvolveMethod::richardson_lucy_tv) refuse_idle(command, "--tv", name);
    if (method != DeconvolveMethod::wiener) refuse_idle(command, "--noise-to-signal", name);
    if (method == DeconvolveMethod::wiener) refuse_idle(command, "--acceleration", name);
}

}  // namespace

void add_deconvolve_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("deconvolve", "Restore an object blurred by a PSF");
    auto request = std::make_shared<DeconvolveRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many,
                        {"IMAGE", "TIFF, NPY, file.h5 or file.h5:/dataset; one or many"},
                        {"PSF", "The point spread function: one 3D stack; without it one is made"});
    add_meaning(*command, *request);
    add_made_psf_options(*command, request->made_psf);
    add_execution(*command, *request);
    const char* group = "What is written";
    add_image_output_options(*command, group, request->output, request->output_type,
                             request->create, "float32");
    add_scale_output_option(*command, group, request->scale_output);
    add_run_options(*command, group, request->run);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        check_method(*command, request->options.method);
        divide_arguments(*command, *request, *many);
        action = [request, many] { run_images<DeconvolveSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
