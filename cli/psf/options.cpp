// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume psf`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/psf/command.hpp"
#include "cli/psf/microscope_options.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* summary = "Compute the point spread function of a microscope";
constexpr const char* notes =
    "\nRefractive indices: light of the source passes through the sample (ns), the cover glass "
    "(ng) "
    "and the immersion medium (ni) into the objective, which is designed for ni0 and ng0. Born and "
    "Wolf's PSF is --model born-wolf, or gibson-lanni with --depth 0 and all layers as designed. "
    "The stage moves by the voxel's z from plane to plane; the source is in the middle plane, and "
    "planes of higher index are focused deeper in the sample.";

void add_volume(CLI::App& app, PsfRequest& request) {
    begin_group(app, "Volume");
    Json& typed = request.typed;
    add_parameters(app, typed, {"voxel_um"});
    app.get_option("--voxel")->each([&request](const std::string& text) {
        request.voxel_warning = voxel_size_warning("--voxel", text);
    });
    add_parsed(
        app, "--scan-step", request.scan_step_um, parse_length_um, "LENGTH",
        "With --scan-angle: travel of the stage from plane to plane (default: z of --voxel or "
        "of --like)");
    add_value(app, "--like", request.like, "IMAGE",
              "The image to restore, which gives voxel size and a size that suits it: 2 Z - 1 "
              "planes for a widefield image with Z planes");
    add_value(app, "--channel", request.channel, "N|NAME",
              "The channel of --like or --from-beads, by its number from 0 or its name "
              "(default 0)");
    add_stack_option(app, request.stack);
    const auto size = [&request](const std::string& text) {
        request.auto_size = text == "auto";
        if (request.auto_size) return;
        const Shape3 shape = parse_extents("--size", text);
        request.typed["size"] = {shape.z, shape.y, shape.x};
    };
    add_taken(app, "--size", size, "Z,Y,X|auto",
              "Numbers of voxels, all odd; auto: as --capture requires (default: as --like "
              "requires, else auto)");
    add_parsed(
        app, "--capture", request.capture, parse_number, "SHARE",
        "Fraction of light that an automatic size contains, along the axis and in each plane "
        "(default 0.95; with --like, widefield: 0.5 in planes out of focus)");
    add_parameters(app, typed, {"oversampling"});
    const auto focus = [&request](const std::string& text) {
        request.brightest = text == "brightest";
        if (!request.brightest) request.typed["focus_um"] = parse_length_um("--focus", text);
    };
    add_taken(app, "--focus", focus, "brightest|LENGTH",
              "z of the middle plane: how much farther from the cover glass than designed the "
              "objective is (default brightest)");
    begin_group(app, groups::machine);
    add_threads_option(app, request.threads);
}

void add_output(CLI::App& app, PsfRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The PSF, float32, sum 1: " + io::usual_image_endings() +
                  "; its parameters are written beside it as .json");
    add_value(
        app, "--from", request.from, "FILE",
        "Read parameters from the .json of an earlier PSF; options given here take precedence");
    add_value(app, "--from-beads", request.beads, "IMAGE",
              "Measure the PSF instead: the mean of the beads in this stack, with the size of "
              "--size, or one that follows from --na and --wavelength");
    add_parsed(app, "--regions", request.regions, parse_extents, "Z,Y,X",
               "With --from-beads: divide the stack into these numbers of equal regions, and write "
               "the PSF of each to OUT.0-0-0.tif, … for OUT.tif; OUT.csv lists them for fuse");
    add_parsed(
        app, "--refine", request.refine, parse_refine, "na,index,depth",
        "With --from-beads: find the values of one or more of these parameters with which the "
        "model fits the beads best, starting from --na, --ns and --depth");
    add_choice(app, "--write", request.write_model, {{"measured", false}, {"model", true}},
               "With --refine: write the measured PSF or that of the refined model (default "
               "measured)");
    app.add_flag("--overwrite", request.overwrite, "Replace outputs that exist");
    app.add_flag("--explain", request.explain,
                 "Print widths, sampling, focus and captured light; without -o, print only these");
    app.add_flag("--json", request.run.json, "Print parameters and facts as JSON on stdout");
    add_quiet_option(app, request.run);
}

void check_depths_request(const PsfRequest& request) {
    for (const auto& [given, option] : {std::pair{request.typed.contains("depth_um"), "--depth"},
                                        {!request.beads.empty(), "--from-beads"},
                                        {request.run.json, "--json"}})
        if (given)
            throw InvalidArgument(message("--depths makes several PSFs, and ", option,
                                          " is for one; leave out the one or the other"));
}

void check_bead_request(const PsfRequest& request) {
    if (request.output.empty())
        throw InvalidArgument("--from-beads measures a PSF, and no output was named; give -o OUT");
    for (const auto& [given, option] : {std::pair{!request.from.empty(), "--from"},
                                        {!request.like.empty(), "--like"},
                                        {request.capture.has_value(), "--capture"},
                                        {request.auto_size, "--size auto"},
                                        {request.brightest, "--focus"},
                                        {request.typed.contains("scan_angle_deg"), "--scan-angle"},
                                        {request.scan_step_um.has_value(), "--scan-step"}})
        if (given)
            throw InvalidArgument(message(option, " does not apply to --from-beads; leave it out"));
    constexpr index_t most_regions = 4096;
    if (request.regions &&
        checked_multiply(checked_multiply(request.regions->z, request.regions->y),
                         request.regions->x) > most_regions)
        throw InvalidArgument(message("--regions divides the field into ",
                                      to_string(*request.regions), " regions; give at most ",
                                      most_regions, " in all"));
    if (request.regions && !request.refine.empty())
        throw InvalidArgument(
            "--refine fits one PSF, and --regions measures several; leave out the one or the "
            "other");
    if (request.write_model && request.refine.empty())
        throw InvalidArgument(
            "--write model writes a refined model, and none was asked for; add --refine, or make "
            "the PSF without --from-beads");
}

}  // namespace

void add_psf_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("psf", std::string(summary) + notes);
    auto request = std::make_shared<PsfRequest>();
    set_examples(*command,
                 {"convolume psf --na 1.4 --wavelength 520nm --like image.tif -o psf_like.tif",
                  "convolume psf --na 0.8 --ni 1 --wavelength 520nm --voxel 200,65,65nm -o a.tif"});
    begin_group(*command, "Microscope");
    add_microscope_options(*command, request->typed);
    add_parameters(*command, request->typed, {"wavelength_um"});
    begin_group(*command, "Light path");
    add_layer_options(*command, request->typed);
    add_parsed(*command, "--depths", request->depths_um, parse_depths_um, "LENGTH,…",
               "Depths of the source, as 0,3,6,10um: a PSF for each, written to OUT.0um.tif, "
               "OUT.3um.tif, … for OUT.tif");
    add_volume(*command, *request);
    add_output(*command, *request);
    command->callback([request, &action] {
        if (request->output.empty() && !request->explain && !request->run.json)
            throw InvalidArgument(
                "no output was named; give -o OUT, or --explain or --json to print figures alone");
        request->run.dry_run = request->output.empty();
        if (!request->depths_um.empty()) {
            check_depths_request(*request);
            action = [request] {
                for (const PsfRequest& one : requests_of_depths(*request)) compute_psf(one);
            };
            return;
        }
        if (!request->beads.empty()) {
            check_bead_request(*request);
            action = [request] { measure_psf(*request); };
            return;
        }
        if (!request->refine.empty() || request->write_model || request->regions)
            throw InvalidArgument(
                "--refine, --regions and --write need a measured PSF; add --from-beads IMAGE");
        action = [request] { compute_psf(*request); };
    });
}

}  // namespace convolume::cli
