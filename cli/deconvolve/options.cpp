// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume deconvolve`.

#include <memory>

#include "cli/app.hpp"
#include "cli/deconvolve/command.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/deconvolution_options.hpp"
#include "cli/images/depth_kernels.hpp"
#include "cli/images/file_names.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

int parse_coarse_start(std::string_view option, const std::string& text) {
    if (text.empty()) return usual_coarse_start;
    // If no number follows the option, the next argument of the command line is parsed as one.
    if (text.find_first_not_of("0123456789") != std::string::npos)
        throw InvalidArgument(message(option, " takes a number of iterations, not \"", text,
                                      "\": write ", option, "=N, or give it after the files"));
    return text == "0" ? 0 : parse_positive<int>(option, text);
}

void add_saturation(CLI::App& app, DeconvolveRequest& request) {
    add_taken(
        app, "--saturation",
        [&request](const std::string& text) {
            request.missing.find_saturated = text == "auto";
            request.options.saturation.reset();
            if (text != "auto" && text != "off")
                request.options.saturation = parse_number_or("auto or off", "--saturation", text);
        },
        "N|auto|off",
        "Pixels of at least this value are saturated: lower bounds, which more light does not "
        "contradict; auto: those at the largest value of the type or the camera (default auto)");
}

void add_computation(CLI::App& app, DeconvolveRequest& request) {
    DeconvolveOptions& options = request.options;
    begin_group(app, groups::method);
    add_options(app, options,
                {"method", "iterations", "stop", "gain", "offset", "read_noise", "acceleration",
                 "background", "boundary", "tv_weight", "roughness", "noise_to_signal", "consensus",
                 "unmatched"});
    add_option_parsed_by(app, options, "coarse_start", parse_coarse_start)->expected(0, 1);
    add_saturation(app, request);
    add_options(app, request.missing, {"no_data", "hot_pixels", "nan"});
    add_value(app, "--mask", request.mask, "FILE",
              "An image of the same extents: pixels that are 0 there are left out");
    add_value(app, "--weights", request.weights, "FILE",
              "An image of the same extents: the weight of each pixel in the likelihood; those "
              "of weight 0 are left out");
    add_choice(
        app, "--bleach", request.finds_bleaching, {{"auto", true}, {"off", false}},
        "Scale light that bleaches from plane to plane, of PSFs that keep the light of planes, or "
        "from time to time, back to that of the first exposure (default: off)");
    add_value(app, "--start", request.start, "FILE",
              "An image to begin with, such as an earlier result (default: a constant)");
    app.add_flag("--warm-start", request.warm_start,
                 "Each time point begins with the result of the one before");
    begin_group(app, groups::psf);
    add_channel_kernel_option(app, request);
    add_kernel_options(app, request.kernel_options);
    begin_group(app, groups::input);
    add_selection_options(app, request.selection);
}

double parse_reach_um(std::string_view option, const std::string& text) {
    const double reach = parse_length_um(option, text);
    if (reach <= 0) throw InvalidArgument(message(option, " takes a length above 0, not ", text));
    return reach;
}

void add_depth_options(CLI::App& app, MadePsfRequest& request) {
    add_parsed(app, "--depth-range", request.depth_range_um, parse_depth_range_um, "FIRST,LAST",
               "Depths in the sample of the first and of the last plane, as 0,10um: PSFs of depths "
               "between them are interpolated (default: one PSF of --depth)");
    add_parsed(app, "--depth-psfs", request.depth_psfs, parse_depth_psfs, "K",
               "Number of PSFs of --depth-range, from 2 to 8 (default 4)");
}

void add_execution(CLI::App& app, DeconvolveRequest& request) {
    begin_group(app, groups::machine);
    add_device_option(app, request.engines);
    add_options(app, request.engines, {"max_gpu_bytes", "fft"});
    add_options(app, request.options, {"max_host_bytes"});
    add_options(app, request.engines, {"threads"});
}

void check_method(const CLI::App& command, DeconvolveRequest& request) {
    DeconvolveOptions& options = request.options;
    const DeconvolveMethod method = options.method;
    // The library cannot see options that are given as they are by default.
    require_given_options(command, options, request.missing);
    constexpr std::pair<const char*, const char*> others[] = {{"--start", "start"},
                                                              {"--warm-start", "start"},
                                                              {"--mask", "mask"},
                                                              {"--weights", "weights"}};
    for (const auto& [flag, option] : others)
        if (command.count(flag) > 0) require_option(method, option);
    options.has_pixel_weights = command.count("--weights") > 0;
    // An image to begin with replaces coarser ones.
    if (!options.coarse_start && command.count("--start") + command.count("--warm-start") > 0)
        options.coarse_start = 0;
}

}  // namespace

void add_deconvolve_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("deconvolve", "Restore an object blurred by a PSF");
    auto request = std::make_shared<DeconvolveRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many, {"IMAGE", io::usual_image_endings() + "; one or many"},
                        {"PSF", "The point spread function: one 3D stack; without it one is made"});
    set_examples(*command,
                 {"convolume deconvolve image.tif psf.tif -o restored.tif",
                  "convolume deconvolve image.tif --na 1.4 --wavelength 520nm -o sharp.tif"});
    request->takes_depths = true;
    add_computation(*command, *request);
    add_made_psf_options(*command, request->made_psf);
    begin_group(*command, "PSF, if no file is given");
    add_parsed(*command, "--out-of-focus", request->made_psf.out_of_focus_um, parse_reach_um,
               "LENGTH",
               "Of one plane through a thick specimen: estimate the specimen this far above and "
               "below it, so that its light is not sharpened (default: the specimen is thin)");
    command->add_flag(
        "--refine-psf", request->refines_psf,
        "Fit NA, index of the sample, depth and spherical aberration of the PSF to the "
        "image");
    add_depth_options(*command, request->made_psf);
    add_execution(*command, *request);
    begin_group(*command, groups::output);
    add_image_output_options(*command, request->output, request->output_type, request->create,
                             "float32");
    add_scale_output_option(*command, request->scale_output);
    add_parsed(
        *command, "--dump-every", request->dump_every, parse_positive<int>, "N",
        "Also write the estimate after every N iterations, beside the result: OUT.iter010.tif "
        "for OUT.tif, OUT.t0.c1.iter010.tif of several times or channels");
    begin_group(*command, groups::output);
    add_uncertainty_options(*command, request->second_output, request->options,
                            "; for many files, a pattern like that of --output-name");
    add_run_options(*command, request->run);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        check_method(*command, *request);
        if (request->made_psf.out_of_focus_um && request->options.boundary)
            throw InvalidArgument("--out-of-focus needs --edges extend; leave out the other one");
        check_depth_range(request->made_psf);
        divide_arguments(*command, *request, *many);
        if (request->refines_psf && !request->made_psf.is_needed)
            throw InvalidArgument(
                "--refine-psf is of PSFs that are made; leave out the file of the PSF");
        if (request->refines_psf && request->made_psf.depth_range_um)
            throw InvalidArgument(
                "--refine-psf is of one PSF, not of --depth-range; leave one out");
        check_uncertainty_options(*command, request->second_output, request->options);
        if (many->is_many && !request->second_output.empty())
            request->second_output = parse_output_name("--uncertainty", request->second_output);
        action = [request, many] { run_images<DeconvolveSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
