// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume deconvolve`.

#include "cli/images/options.hpp"

#include <memory>

#include "cli/app.hpp"
#include "cli/deconvolve/command.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

/// Nothing stands for "auto".
std::optional<double> parse_image_background(std::string_view option, const std::string& text) {
    if (text == "auto") return {};
    return parse_number(option, text);
}

constexpr int usual_coarse_start = 20;

int parse_coarse_start(std::string_view option, const std::string& text) {
    if (text.empty()) return usual_coarse_start;
    // Without a number, what comes next on the command line is taken for it.
    if (text.find_first_not_of("0123456789") != std::string::npos)
        throw InvalidArgument(message(option, " takes a number of iterations, not \"", text,
                                      "\": write ", option, "=N, or give it after the files"));
    return parse_positive<int>(option, text);
}

/// --gain or --offset: one of them alone leaves the other at 1 or 0.
CLI::Option* add_photon_option(CLI::App& app, const char* name, DeconvolveOptions& options,
                               double PhotonScale::*member, const char* help) {
    return app
        .add_option_function<std::string>(
            name,
            [&options, name, member](const std::string& text) {
                if (!options.photons) options.photons.emplace();
                (*options.photons).*member = parse_number(name, text);
            },
            help)
        ->type_name("N");
}

void add_meaning(CLI::App& app, DeconvolveRequest& request) {
    DeconvolveOptions& options = request.options;
    const char* group = "What is computed";
    add_parsed(app, "--method", options.method, parse_deconvolve_method,
               "rl|rl-tv|shb|wb|rlgc|wiener",
               "Richardson-Lucy (rl, the default), with total variation (rl-tv), as a scaled heavy "
               "ball (shb), with a Wiener-Butterworth back projector (wb), gradient consensus "
               "(rlgc), or Wiener")
        ->group(group);
    add_parsed(app, "--iterations", options.iterations, parse_positive<int>, "N",
               "Maximum number of iterations (default 30; of wb those of --unmatched; with "
               "--stop auto 200)")
        ->group(group);
    app.add_option_function<std::string>(
           "--stop",
           [&options](const std::string& text) {
               options.hold_out = text == "auto";
               if (!options.hold_out) options.stop = parse_number("--stop", text);
           },
           "auto: stop when held-out photons are predicted best; a number: when an iteration "
           "lowers the misfit by less than this fraction; for wiener, when the residual is at most "
           "this (default: never; wiener: 0.001)")
        ->type_name("auto|X")
        ->group(group);
    add_photon_option(
        app, "--gain", options, &PhotonScale::gain,
        "Photons for each unit of the image, for --stop auto and rlgc (default: seen from the "
        "noise)")
        ->group(group);
    add_photon_option(
        app, "--offset", options, &PhotonScale::offset,
        "Value of a pixel without photons, for --stop auto and rlgc (default: seen from the "
        "noise)")
        ->group(group);
    add_parsed(app, "--acceleration", options.acceleration, parse_acceleration,
               "biggs-andrews|none", "Acceleration of rl and rl-tv (default biggs-andrews)")
        ->group(group);
    add_parsed(
        app, "--background", options.background, parse_image_background, "N|auto",
        "Level of the image without light; auto: the level that most pixels are near (default "
        "0)")
        ->group(group);
    add_parsed(app, "--saturation", options.saturation, parse_number, "N",
               "Pixels of at least this value are saturated and are left out; not of wiener "
               "(default: all are used)")
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
               "Noise-to-signal power ratio for wiener and wb (default 0.01)")
        ->group(group);
    add_parsed(
        app, "--consensus", options.consensus, parse_number, "X",
        "rlgc ends when less than this share of voxels agree, five times in a row (default 0.55)")
        ->group(group);
    add_parsed(app, "--unmatched", options.unmatched, parse_positive<int>, "N",
               "Iterations of wb with its back projector, before those of rl (default 2)")
        ->group(group);
    add_parsed(
        app, "--coarse-start", options.coarse_start, parse_coarse_start, "[N]",
        "Begin with N iterations on each of one or two coarser images (20 without a number): "
        "the same quality sooner; of rl, rl-tv and shb (default: none)")
        ->expected(0, 1)
        ->group(group);
    app.add_option("--start", request.start,
                   "An image to begin with, such as an earlier result (default: a constant)")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("--warm-start", request.warm_start,
                 "Each time point begins with the result of the one before")
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

// Held-out photons end the search long before.
constexpr int most_searched = 200;

void check_method(const CLI::App& command, DeconvolveOptions& options) {
    const DeconvolveMethod method = options.method;
    const char* const name = to_string(method);
    if (method != DeconvolveMethod::richardson_lucy_tv) refuse_idle(command, "--tv", name);
    const bool is_wb = method == DeconvolveMethod::wiener_butterworth;
    if (method != DeconvolveMethod::wiener && !is_wb)
        refuse_idle(command, "--noise-to-signal", name);
    if (!is_wb) refuse_idle(command, "--unmatched", name);
    if (is_wb && command.count("--iterations") == 0) options.iterations = options.unmatched;
    if (method == DeconvolveMethod::wiener) {
        refuse_idle(command, "--start", name);
        refuse_idle(command, "--warm-start", name);
    }
    if (method == DeconvolveMethod::wiener || method == DeconvolveMethod::scaled_heavy_ball)
        refuse_idle(command, "--acceleration", name);
    const bool is_rlgc = method == DeconvolveMethod::gradient_consensus;
    if (!is_rlgc) refuse_idle(command, "--consensus", name);
    if (!options.hold_out && !is_rlgc && options.photons)
        throw InvalidArgument(
            "--gain and --offset apply to --stop auto and --method rlgc only; leave them out");
    if (options.hold_out && command.count("--iterations") == 0) options.iterations = most_searched;
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
    add_parsed(
        *command, "--dump-every", request->dump_every, parse_positive<int>, "N",
        "Also write the estimate after every N iterations, beside the result: OUT.iter010.tif "
        "for OUT.tif, OUT.t0.c1.iter010.tif of several times or channels")
        ->group(group);
    add_run_options(*command, group, request->run);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        check_method(*command, request->options);
        divide_arguments(*command, *request, *many);
        action = [request, many] { run_images<DeconvolveSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
