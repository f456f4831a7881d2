// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume phantom`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/phantom/command.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

VoxelSize parse_voxel(std::string_view option, const std::string& text) {
    const auto lengths = parse_lengths_um(option, text);
    return {lengths[0], lengths[1], lengths[2]};
}

PixelType parse_phantom_type(const std::string& text) {
    const PixelType type = parse_pixel_type(text);
    if (type != PixelType::float32 && type != PixelType::uint16)
        throw InvalidArgument(
            message("phantoms are float32 or uint16, not ", text, "; choose one of these"));
    return type;
}

void add_specimen(CLI::App& app, PhantomOptions& options) {
    const char* group = "What is drawn";
    add_parsed(app, "--kind", options.kind, parse_phantom_kind,
               "beads|filaments|shells|cells|mixed",
               "Kind of objects (default mixed: some of each)")
        ->group(group);
    add_parsed(app, "--size", options.shape, parse_extents, "Z,Y,X", "Voxels (default 64,256,256)")
        ->group(group);
    add_parsed(app, "--voxel", options.voxel, parse_voxel, "Z,Y,X",
               "Edges of a voxel with their unit (default 200,100,100nm)")
        ->group(group);
    add_parsed(app, "--seed", options.seed, parse_seed, "N",
               "Seed of the random specimen (default 1)")
        ->group(group);
    app.add_option("--count", options.count,
                   "Number of objects (default: depends on the volume and the kind)")
        ->type_name("N")
        ->group(group);
    add_parsed(app, "--radius", options.radius_um, parse_length_um, "LENGTH",
               "Radius of objects; half the thickness of filaments (default beads 100nm, filaments "
               "60nm, shells 2um, cells 5um)")
        ->group(group);
    app.add_option("--brightness", options.brightness,
                   "Brightness of voxels inside objects (default 1000)")
        ->type_name("B")
        ->group(group);
    app.add_option("--brightness-spread", options.brightness_spread,
                   "Largest relative difference of an object's brightness from it (default 0.3)")
        ->type_name("S")
        ->group(group);
    app.add_option("--background", options.background, "Background of every voxel (default 0)")
        ->type_name("B")
        ->group(group);
}

void add_output(CLI::App& app, PhantomRequest& request) {
    const char* group = "What is written";
    app.add_option("-o,--output", request.output,
                   "The phantom: .tif, .ome.tif, .h5, .h5:/dataset or .npy")
        ->type_name("OUT")
        ->required()
        ->group(group);
    app.add_option("--objects", request.objects, "List of the objects, as JSON")
        ->type_name("FILE")
        ->group(group);
    add_parsed(app, "--type", request.type, parse_phantom_type, "float32|uint16",
               "Pixel type; uint16 is rounded and clamped (default float32)")
        ->group(group);
    add_compression_option(app, group, request.create, "Compression of the output (default none)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_threads_option(app, group, request.threads);
    add_json_option(app, group, request.run);
    add_quiet_option(app, group, request.run);
}

}  // namespace

void add_phantom_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "phantom", "Draw a specimen with known content: beads, filaments, shells, cells");
    auto request = std::make_shared<PhantomRequest>();
    add_specimen(*command, request->options);
    add_output(*command, *request);
    command->callback(
        [request, &action] { action = [request] { run_steps<PhantomSteps>(*request); }; });
}

}  // namespace convolume::cli
