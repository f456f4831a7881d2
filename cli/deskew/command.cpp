// SPDX-License-Identifier: Apache-2.0
// `convolume deskew`: its request, and its run, which streams an image from file to file.

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/deskew.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "operations/deskew/stage_scans.hpp"

namespace convolume::cli {

namespace {

struct DeskewRequest : ImageFiles {
    DeskewOptions options;
    bool has_angle = false, has_step = false;
    std::optional<double> pixel_um;  ///< edge of a camera pixel; default: that of the image
    std::string output_type;         ///< name of a type, or empty for that of the image
};

double parse_fill(std::string_view option, const std::string& text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return parse_number_or("nan", option, text);
}

class DeskewSteps : public ImageSteps {
  public:
    explicit DeskewSteps(const DeskewRequest& request) : ImageSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        options_ = request_.options;
        doubt_ = set_pixels(options_, input_metadata_, request_.image, request_.pixel_um);
        grid_ = deskewed_grid(input_metadata_.shape, options_);
        deskew_metadata(output_metadata_, options_);
        output_metadata_.type =
            resolve_output_type(request_.output_type.empty() ? "same" : request_.output_type,
                                input_metadata_.type, input_metadata_.type, Precision::float32);
        // Stored samples of the same type keep the scale of their values.
        if (output_metadata_.type == input_metadata_.type)
            output_metadata_.scaling = input_metadata_.scaling;
        allows_nonfinite_ = std::isnan(options_.fill);
    }

    void plan(const ExecutionContext&) override {
        plan_ = plan_deskew(reader_->format(), output_metadata_.type, options_);
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        writer_ = io::create_image(request_.output, output_metadata_, request_.create);
        executed_ = convolume::deskew(*reader_, *writer_, options_, context);
        reader_->check_unchanged();
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        const StageScan& scan = options_.scan;
        const Console& console = facts.console;
        if (doubt_) console.warning(in_words_of_command(*doubt_));
        console.fact(
            "scan",
            message("angle ", format_number(scan.angle_deg), "°, step ",
                    format_number(scan.step_um), " µm: planes are ",
                    format_number(scan.plane_distance_um(), 4), " µm apart, each displaced by ",
                    format_number(scan.shear_px(), 4), " pixels along ", to_string(scan.axis)));
        console.fact("result", message(options_.rotate    ? "rotated to the cover glass, "
                                       : options_.inverse ? "in the voxels of the scan, "
                                                          : "in the frame of the camera, ",
                                       to_string(options_.interpolation), " interpolation"));
        console.fact("plan", message(plan_.blocks, plan_.blocks == 1 ? " block" : " blocks",
                                     " of up to z,y,x ", to_string(plan_.block), ", ",
                                     format_bytes(plan_.host_bytes), " of memory, reads ",
                                     format_number(plan_.read_share, 3), " times the image"));
        facts.json["scan"] = {{"angle_deg", scan.angle_deg},
                              {"step_um", scan.step_um},
                              {"axis", to_string(scan.axis)},
                              {"opposite", scan.opposite},
                              {"plane_distance_um", scan.plane_distance_um()},
                              {"shear_px", scan.shear_px()}};
        facts.json["rotated"] = options_.rotate;
        facts.json["interpolation"] = to_string(options_.interpolation);
        facts.json["map"] = {{"matrix", grid_.map.matrix}, {"offset", grid_.map.offset}};
        facts.json["plan"] = {{"block", shape_json(plan_.block)},
                              {"blocks", plan_.blocks},
                              {"host_bytes", plan_.host_bytes},
                              {"overlapped", plan_.overlapped},
                              {"read_share", plan_.read_share}};
    }

  private:
    const DeskewRequest& request_;
    DeskewOptions options_;
    std::optional<Sentence> doubt_;
    DeskewedGrid grid_;
    DeskewPlan plan_;
};

void add_scan(CLI::App& app, DeskewRequest& request) {
    begin_group(app, "Scan");
    add_options(app, request.options, {"angle_deg", "step_um"});
    app.get_option("--angle")->each([&request](const std::string&) { request.has_angle = true; });
    app.get_option("--step")->each([&request](const std::string&) { request.has_step = true; });
    add_parsed(app, "--pixel", request.pixel_um, parse_length_um, "LENGTH",
               "Edge of a camera pixel in the specimen, e.g. 108nm (default: the image's voxel)");
    add_options(app, request.options, {"axis"});
    app.add_flag("--opposite-scan", request.options.scan.opposite,
                 "Planes are displaced to lower indices of that axis, not to higher ones");
}

void add_result(CLI::App& app, DeskewRequest& request) {
    begin_group(app, groups::method);
    app.add_flag("--rotate", request.options.rotate,
                 "Make planes parallel to the cover glass; otherwise planes stay those of the "
                 "camera");
    app.add_flag(
        "--inverse", request.options.inverse,
        "Displace the planes of a straight stack, such as a measured PSF, as the scan does");
    add_options(app, request.options, {"output_voxel_um", "interpolation"});
    add_option_parsed_by(app, request.options, "fill", parse_fill);
    begin_group(app, groups::machine);
    add_options(app, request.options, {"max_host_bytes", "threads"});
}

}  // namespace

void add_deskew_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "deskew", "Deskew stage scans of oblique and lattice light-sheet microscopes");
    auto request = std::make_shared<DeskewRequest>();
    set_examples(*command,
                 {"convolume deskew image.tif --angle 31.5 --step 400nm -o deskewed.tif",
                  "convolume deskew image.tif --angle 31.5 --step 400nm --rotate -o rotated.tif"});
    command->add_option("IMAGE", request->image, io::usual_image_endings())->required();
    add_scan(*command, *request);
    add_result(*command, *request);
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::output);
    add_image_output_options(*command, request->output, request->output_type, request->create,
                             "same");
    add_run_options(*command, request->run);
    command->callback([request, &action] {
        require_output(request->output, request->run);
        check_scan_is_given(request->has_angle, request->has_step);
        action = [request] { run_steps<DeskewSteps>(*request); };
    });
}

}  // namespace convolume::cli
