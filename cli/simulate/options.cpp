// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume simulate`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/file_names.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/simulate/command.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

void add_light(CLI::App& app, SimulateRequest& request) {
    const char* group = "Light";
    add_parsed(app, "--pixel", request.pixel_um, parse_length_um, "LENGTH",
               "Edge of a camera pixel in the sample, e.g. 130nm (default: the phantom's voxel)")
        ->group(group);
    add_parsed(app, "--step", request.step_um, parse_length_um, "LENGTH",
               "How far the focus moves between planes (default: the phantom's voxel)")
        ->group(group);
    CLI::Option* photons =
        app.add_option("--photons", request.photons,
                       "Photons expected from the specimen at the brightest pixel of all channels "
                       "and times (default 1000)")
            ->type_name("N")
            ->group(group);
    app.add_option("--photons-per-unit", request.photons_per_unit,
                   "Photons per unit of brightness, instead of --photons")
        ->type_name("F")
        ->excludes(photons)
        ->group(group);
    add_options(app, group, request.camera, {"background_photons"});
    add_options(app, group, request.options, {"boundary"});
    add_kernel_options(app, groups::psf, request.kernel_options);
    add_channel_kernel_option(app, groups::psf, request);
    add_parsed(app, "--nan", request.options.nan, parse_nan_policy, "error|zero",
               "What to do with NaN and infinities in the phantom (default error)")
        ->group(group);
    add_selection_options(app, groups::input, request.selection);
}

void add_camera(CLI::App& app, Camera& camera) {
    const char* group = "Camera";
    add_options(app, group, camera,
                {"quantum_efficiency", "exposure_s", "dark_e_per_s", "read_noise_e", "full_well_e",
                 "gain_e_per_adu", "offset_adu", "bits", "seed"});
    app.add_flag_callback(
           "--no-noise", [&camera] { camera.noise = false; },
           "Record the mean charge: no photon noise and no read noise")
        ->group(group);
}

void add_output(CLI::App& app, SimulateRequest& request) {
    const char* group = groups::output;
    app.add_option("-o,--output", request.output,
                   "The recording: .tif, .ome.tif, .h5, .h5:/dataset or .npy")
        ->type_name("OUT")
        ->group(group);
    app.add_option(
           "--truth", request.second_output,
           "Also write the photons expected at each pixel, float32; for many files, a pattern "
           "like that of --output-name")
        ->type_name("FILE")
        ->group(group);
    add_compression_option(app, group, request.create, "Compression of the outputs (default none)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_run_options(app, group, request.run);
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "simulate", "Simulate how a microscope records a specimen: blur, pixels, noise");
    auto request = std::make_shared<SimulateRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many,
                        {"PHANTOM", "The specimen: TIFF, NPY or HDF5; one or many"},
                        {"PSF", "The point spread function: one 3D stack; without it one is made"});
    set_examples(*command,
                 {"convolume simulate cells.tif psf.tif --photons 500 -o recorded.tif",
                  "convolume simulate cells.tif --na 1.2 --wavelength 520nm -o recorded2.tif"});
    add_light(*command, *request);
    add_made_psf_options(*command, request->made_psf);
    add_camera(*command, request->camera);
    add_convolution_options(*command, request->options, request->engines);
    add_output(*command, *request);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        divide_arguments(*command, *request, *many);
        if (many->is_many && !request->second_output.empty())
            request->second_output = parse_output_name("--truth", request->second_output);
        action = [request, many] { run_images<SimulateSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
