// SPDX-License-Identifier: Apache-2.0
// `convolume fuse`: restores one object from several recordings.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/deconvolution_options.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "cli/views/view_options.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/view_deconvolver.hpp"
#include "operations/warnings/images.hpp"
#include "operations/warnings/restoration.hpp"

namespace convolume::cli {

namespace {

struct FuseRequest : ImageFiles {
    std::vector<std::string> images;
    ViewRequest views;
    std::optional<double> result_edge_um;  ///< edge of the voxels of a result that is isotropic
    index_t border = 0;
    DeconvolveOptions options;
    KernelOptions kernel;
    EngineChoice engines;
    std::string output_type;

    RunFiles files() const {
        RunFiles all = ImageFiles::files();
        for (const auto& more : {images, views.inputs()})
            all.inputs.insert(all.inputs.end(), more.begin(), more.end());
        return all;
    }
};

class FuseSteps : public ImageSteps {
  public:
    explicit FuseSteps(const FuseRequest& request)
        : ImageSteps(request, "view 1"), request_(request) {}

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        const std::size_t count = request_.images.size();
        for (std::size_t v = 1; v < count; ++v)
            others_.push_back(open_selected(request_.images[v], request_.selection));
        for (const auto& other : others_)
            if (other->metadata().channels != input_metadata_.channels ||
                other->metadata().frames != input_metadata_.frames)
                throw InvalidArgument(
                    message("the views have different numbers of channels or times, ",
                            one_line(input_metadata_), " and ", one_line(other->metadata()),
                            "; choose by --channel and --frame"));
        for (std::size_t v = 0; v < count; ++v)
            check_real(metadata(v).type, message('"', request_.images[v], '"'));
        choose_grid();
        for (std::size_t v = 0; v < count; ++v) {
            psfs_.push_back(load_view_psfs(*text_of(request_.views.psfs, v), metadata(v),
                                           request_.kernel, *context.timeline));
            const std::string* const mask = text_of(request_.views.masks, v);
            masks_.push_back(mask ? load_mask(*mask, metadata(v).shape) : Volume());
        }
        read_transforms();
        output_metadata_.type = resolve_output_type(request_.output_type, input_metadata_.type,
                                                    PixelType::float32, Precision::float32);
        if (is_complex(output_metadata_.type))
            throw InvalidArgument("the result is real; choose another --output-type");
    }

    void plan(const ExecutionContext&) override { static_cast<void>(deconvolver({})); }

    WorkAmount work() const override { return {}; }

    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override {
        writer_ = io::create_image(request_.output, output_metadata_, request_.create);
        if (!request_.second_output.empty()) {
            io::ImageMetadata deviation = output_metadata_;
            deviation.type = PixelType::float32;
            second_writer_ = io::create_image(request_.second_output, deviation, request_.create);
        }
        Volume result(output_metadata_.shape, output_metadata_.type);
        for (index_t t = 0; t < input_metadata_.frames; ++t)
            for (index_t c = 0; c < input_metadata_.channels; ++c) {
                std::optional<double> saturation;
                std::vector<Volume> images;
                for (std::size_t v = 0; v < request_.images.size(); ++v)
                    images.push_back(read(v, t, c, console, saturation));
                std::vector<ConstImageView> views;
                for (const Volume& image : images) views.push_back(image.view());
                DeconvolveRun run;
                std::optional<SinkChannel> uncertainty;
                if (second_writer_) run.uncertainty = &uncertainty.emplace(*second_writer_, c, t);
                run.reads_every = 0;
                run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
                    meter.note(note_of(iteration));
                };
                reports_ = deconvolver(saturation).execute(views, result.view(), run, context);
                all_reports_.insert(all_reports_.end(), reports_.begin(), reports_.end());
                executed_ += reports_[0].executed;
                writer_->write(t, c, std::as_const(result).view());
            }
        reader_->check_unchanged();
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        facts.json["views"] = nlohmann::ordered_json::array();
        for (std::size_t v = 0; v < request_.images.size(); ++v) {
            if (v > 0)
                facts.console.fact(message("view ", v + 1),
                                   message(request_.images[v], ": ", one_line(metadata(v))));
            report_psfs(facts.console, psfs_[v]);
            facts.json["views"].push_back({{"image", request_.images[v]},
                                           {"psf", to_json(psfs_[v])},
                                           {"matrix", maps_[v].matrix},
                                           {"offset", maps_[v].offset}});
        }
        const DeconvolvePlan plan = planned_.begin()->second->plan();
        const std::string on_device =
            plan.on_device ? format_bytes(plan.device_bytes) + " of GPU memory, " : "";
        const std::string further_runs =
            plan.splits > 0
                ? message(", then ", 2 * plan.splits, " further runs for the uncertainty")
                : "";
        report_plan(facts.console, request_.run, plan.to_string(),
                    message("an object of z,y,x ", to_string(plan.object), ", ", on_device,
                            format_bytes(plan.host_bytes), " of host memory, on ", plan.engines,
                            further_runs));
        facts.json["plan"] = {
            {"object", shape_json(plan.object)}, {"grid", shape_json(plan.grid)},
            {"host_bytes", plan.host_bytes},     {"device_bytes", plan.device_bytes},
            {"engines", plan.engines},           {"further_runs", 2 * plan.splits}};
    }

    void tell_result(const Facts& facts) const override {
        ImageSteps::tell_result(facts);
        facts.json["levels"] = nlohmann::ordered_json::array();
        for (std::size_t v = 0; v < reports_.size(); ++v) {
            const DeconvolveReport& report = reports_[v];
            facts.console.fact(message("view ", v + 1),
                               message("background ", format_number(report.background), ", offset ",
                                       format_number(report.photons.offset), ", ",
                                       report.missing_pixels, " pixels left out"));
            facts.json["levels"].push_back({{"background", report.background},
                                            {"offset", report.photons.offset},
                                            {"gain", report.photons.gain},
                                            {"missing_pixels", report.missing_pixels}});
        }
        if (reports_.empty()) return;
        facts.console.fact("iterations", message(reports_[0].iterations));
        facts.json["iterations"] = reports_[0].iterations;
        const DeconvolveOptions options = resolved(request_.options, output_metadata_.shape.z);
        for (const Sentence& warning :
             restoration_warnings({all_reports_, options, false, false, {}, {}, {}}))
            facts.console.warning(in_words_of_command(warning));
    }

    void tell_output(const Facts& facts) const override {
        ImageSteps::tell_output(facts);
        if (request_.second_output.empty()) return;
        facts.json["output"]["uncertainty"] = request_.second_output;
        if (reports_.empty()) return;
        facts.console.fact(
            "noise", message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                             " float32, standard deviation from ", request_.options.splits,
                             " splits of the photons"));
    }

  private:
    std::string note_of(const Iteration& iteration) const {
        const std::string count =
            message("iteration ", iteration.number, " of at most ", iteration.of);
        if (iteration.split > 0)
            return message("split ", iteration.split, " of ", request_.options.splits, ", ", count);
        return iteration.searching ? "search, " + count : count;
    }
    const io::ImageMetadata& metadata(std::size_t v) const {
        return v == 0 ? input_metadata_ : others_[v - 1]->metadata();
    }
    io::ImageReader& reader(std::size_t v) const {
        return v == 0 ? static_cast<io::ImageReader&>(*reader_) : *others_[v - 1];
    }

    /// Chooses the voxels of the result: those of the first view, or a cube's.
    void choose_grid() {
        if (!request_.result_edge_um) return;
        const double edge = *request_.result_edge_um;
        const CoveringGrid grid =
            cube_grid(input_metadata_, request_.image, edge, "--result-voxel");
        first_to_result_ = grid.map;
        io::move_planes(output_metadata_, grid.shape,
                        {grid.shape.z == input_metadata_.shape.z ? 0 : grid.shape.z, 1, 1});
        output_metadata_.voxel_size_um = {edge, edge, edge};
    }

    /// Reads the maps from the voxels of each view to those of the result.
    void read_transforms() {
        ViewTransforms views{
            request_.views.transforms, request_.views.unit, request_.images, {}, first_to_result_};
        for (std::size_t v = 0; v < request_.images.size(); ++v)
            views.voxels.push_back(known_voxel(metadata(v)));
        maps_ = read_view_maps(views);
    }

    /// Returns the plan for images with saturated pixels of at least this value, and missing ones.
    const ViewDeconvolver& deconvolver(const std::optional<double>& saturation) {
        const double bound = saturation.value_or(static_cast<double>(missing_pixel));
        if (const auto found = planned_.find(bound); found != planned_.end()) return *found->second;
        std::vector<View> views;
        std::vector<ViewLevels> levels;
        for (std::size_t v = 0; v < request_.images.size(); ++v) {
            View& view = views.emplace_back();
            view.image = metadata(v).shape;
            view.psfs = psfs_[v].field();
            view.map = maps_[v];
            if (masks_[v].shape() != Shape3{}) view.mask = std::as_const(masks_[v]).view();
            ViewLevels& one = levels.emplace_back();
            one.background = number_of(request_.views.backgrounds, v, "--background");
            one.light = number_of(request_.views.lights, v, "--light").value_or(1);
            one.border = request_.border;
        }
        DeconvolveOptions options = request_.options;
        if (uses_option(options.method, "saturation")) options.saturation = bound;
        const auto& size = output_metadata_.voxel_size_um;
        if (size[0] && size[1] && size[2]) options.voxel = {*size[0], *size[1], *size[2]};
        return *planned_
                    .emplace(bound,
                             std::make_unique<ViewDeconvolver>(output_metadata_.shape, views,
                                                               options, levels, request_.engines))
                    .first->second;
    }

    /// Reads a volume of a view, and marks its missing pixels.
    Volume read(std::size_t v, index_t t, index_t c, const Console& console,
                std::optional<double>& saturation) const {
        const Shape3& shape = metadata(v).shape;
        MissingPixelOptions options;
        options.camera_maximum = metadata(v).microscope.camera_maximum();
        const MissingPixels missing =
            find_missing_pixels(reader(v), t, c, sharpness_of(psfs_[v].files.front().values.view()),
                                options, request_.engines.threads);
        for (const std::string& finding : missing.findings)
            console.fact(message("view ", v + 1), message("left out: ", finding));
        if (missing.saturated)
            saturation =
                std::min(saturation.value_or(missing.saturated->value), missing.saturated->value);
        SourceChannel volume(reader(v), c, t);
        const bool is_marked = missing.count() > 0;
        Volume image(shape, is_marked ? PixelType::float32 : metadata(v).type);
        if (is_marked)
            MarkedSource(volume, missing).read_box(0, 0, {{0, 0, 0}, shape}, image.view());
        else
            volume.read_box(0, 0, {{0, 0, 0}, shape}, image.view());
        return image;
    }

    const FuseRequest& request_;
    std::vector<std::unique_ptr<SelectedImage>> others_;
    std::vector<ViewPsfs> psfs_;
    std::vector<Volume> masks_;  ///< without samples for a view without a mask
    VoxelMap first_to_result_;   ///< from voxels of the first view to those of the result
    std::vector<VoxelMap> maps_;
    std::map<double, std::unique_ptr<ViewDeconvolver>> planned_;
    std::vector<DeconvolveReport> reports_;      // of the views of the last channel and time
    std::vector<DeconvolveReport> all_reports_;  // of all channels and times
};

void add_views(CLI::App& app, FuseRequest& request) {
    begin_group(app, "Views");
    add_value(app, "--psf", request.views.psfs, "FILE",
              "The point spread function of all views, or once for each of them; *.csv lists those "
              "of a field")
        ->allow_extra_args(false);
    add_view_options(app, request.views,
                     {"Weight of each pixel of a view, from 0: those of 0 are left out",
                      "Light that a view records, relative to the others, once for each view "
                      "(default 1)"});
    add_parsed(app, "--result-voxel", request.result_edge_um, parse_length_um, "LENGTH",
               "Edge of the result's voxels, which are cubes (default: the first view's voxels)");
    add_value(app, "--background", request.views.backgrounds, "N|auto",
              "Level of a view without the specimen's light, for all views, or once for each "
              "(default auto)")
        ->allow_extra_args(false);
    add_value(app, "--border", request.border, "N",
              "Voxels at the borders of a view over which its weight rises from 0 (default 0)");
}

void add_method(CLI::App& app, FuseRequest& request) {
    begin_group(app, groups::method);
    std::vector<NamedValue<DeconvolveMethod>> methods;
    std::string names;
    for (const NamedValue<DeconvolveMethod>& one : names_of<DeconvolveMethod>) {
        if (!deconvolves_views(one.value)) continue;
        methods.push_back(one);
        names += message(names.empty() ? "" : "|", one.name);
    }
    add_parsed(app, "--method", request.options.method, parse_deconvolve_method, names,
               help_of_names(request.options.method, methods));
    add_options(app, request.options,
                {"iterations", "stop", "view_updates", "gain", "offset", "acceleration", "boundary",
                 "tv_weight", "roughness"});
    begin_group(app, groups::machine);
    add_device_option(app, request.engines);
    add_options(app, request.options, {"max_host_bytes"});
    add_options(app, request.engines, {"max_gpu_bytes", "fft", "threads"});
}

}  // namespace

void add_fuse_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("fuse", "Restore one object from several recordings (views)");
    auto request = std::make_shared<FuseRequest>();
    set_examples(*command,
                 {"convolume fuse image.tif side.tif --psf psf.tif -o object.tif",
                  "convolume fuse image.tif side.tif --psf psf.tif --border 2 -o both.tif"});
    command->add_option("IMAGE", request->images, io::usual_image_endings() + "; one for each view")
        ->required();
    add_views(*command, *request);
    add_method(*command, *request);
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::output);
    add_image_output_options(*command, request->output, request->output_type, request->create,
                             "float32");
    add_uncertainty_options(*command, request->second_output, request->options);
    add_run_options(*command, request->run);
    command->callback([request, command, &action] {
        require_output(request->output, request->run);
        request->views.check(request->images.size());
        require_given_options(*command, request->options);
        check_uncertainty_options(*command, request->second_output, request->options);
        request->image = request->images.front();
        action = [request] { run_steps<FuseSteps>(*request); };
    });
}

}  // namespace convolume::cli
