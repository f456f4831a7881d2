// SPDX-License-Identifier: Apache-2.0
// Runs `convolume psf --from-beads`, with and without --refine.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/psf/command.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/report.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "core/report.hpp"
#include "core/text.hpp"
#include "operations/optics/image_optics.hpp"
#include "operations/views/view_files.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string name_of(PsfParameter parameter) {
    return parameter == PsfParameter::na ? "NA" : to_string(parameter);
}

std::string unit_of(PsfParameter parameter) {
    return parameter == PsfParameter::depth ? " µm" : "";
}

/// Returns value and deviation with the decimals that two digits of the deviation need.
std::string with_deviation(double value, double deviation) {
    const int decimals =
        deviation > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, 6)
                      : 6;
    TextStream text;
    text << std::fixed;
    text.precision(decimals);
    text << value << " ± " << deviation;
    return text.str();
}

/// Prints the line "refined", and warns of parameters that ended at their bounds.
void report_refinement(const Console& console, const RefinedPsf& refined) {
    std::string text;
    for (const RefinedParameter& p : refined.parameters)
        text += message(name_of(p.parameter), ' ', with_deviation(p.value, p.deviation),
                        unit_of(p.parameter), ", ");
    text.resize(text.size() - 2);
    console.fact("refined", message(text, "; differs by ", format_percent(refined.residual),
                                    " (root mean square), before by ",
                                    format_percent(refined.first_residual)));
    for (const RefinedParameter& p : refined.parameters)
        if (p.at_bound)
            console.warning(message("the ", name_of(p.parameter),
                                    " ended at the bound of its range, ", format_number(p.low),
                                    " to ", format_number(p.high), unit_of(p.parameter),
                                    ", so that it may be wrong; check the other parameters, or "
                                    "start nearer to the true value"));
}

nlohmann::ordered_json refined_json(const RefinedPsf& refined) {
    nlohmann::ordered_json json;
    for (const RefinedParameter& p : refined.parameters)
        json[p.parameter == PsfParameter::depth ? "depth_um" : to_string(p.parameter)] = {
            {"value", p.value},
            {"deviation", p.deviation},
            {"low", p.low},
            {"high", p.high},
            {"at_bound", p.at_bound}};
    json["residual"] = refined.residual;
    json["first_residual"] = refined.first_residual;
    return json;
}

/// Steps of --from-beads: measure a PSF, and compare it with the typed or refined model.
class BeadPsfSteps : public RunSteps {
  public:
    explicit BeadPsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext&) override {
        reader_ = io::open_image(request_.beads, {.stack = request_.stack});
        input_metadata_ = reader_->metadata();
        channel_ = channel_of(request_, input_metadata_);
        optics_ = optics_of(input_metadata_, channel_, request_.typed);
        Json parameters = optics_.parameters;
        parameters.update(request_.typed);
        if (!parameters.contains("voxel_um"))
            parameters["voxel_um"] = psf_voxel_for(input_metadata_, request_.beads, "add --voxel");
        const Json voxel = parameters["voxel_um"];
        for (std::size_t axis = 0; axis < 3; ++axis)
            input_metadata_.voxel_size_um[axis] = voxel.at(axis).get<double>();
        std::optional<Shape3> given;
        if (parameters.contains("size"))
            given = {parameters["size"][0].get<index_t>(), parameters["size"][1].get<index_t>(),
                     parameters["size"][2].get<index_t>()};
        if (parameters.contains("na") && (parameters.contains("wavelength_um") ||
                                          !needs_parameter(parameters, "wavelength_um"))) {
            parameters["size"] = {1, 1, 1};
            model_ = psf_options_of(std::move(parameters), "the command line");
            refuse_unused_layers(*model_, request_.typed);
            model_->threads = request_.threads;
        }
        size_ = bead_psf_size(given, model_, input_metadata_.shape);
        if (model_) model_->size = size_;
        check_refinement();
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        first_writer_ = create(0);
        Volume read(input_metadata_.shape, input_metadata_.type);
        reader_->read(0, channel_, read.view());
        reader_->check_unchanged();
        const Volume stack = real_samples(read.view(), "the stack of beads");
        read = Volume();
        measure(stack.view(), context);
        if (!request_.refine.empty()) {
            BeadPsf& psf = psfs_.front().psf;
            refined_ =
                refine_psf(psf.values.view(), *model_,
                           {request_.refine, std::max(0.0, psf.background / psf.flux)}, context);
            model_ = refined_->model;
        }
        for (std::size_t k = 0; k < psfs_.size(); ++k) {
            BeadPsf& psf = psfs_[k].psf;
            residuals_.push_back(model_ ? subtract_background(psf, *model_, only_stoppable(context))
                                        : 0);
            if (request_.write_model)
                psf.values = make_psf(*model_, only_stoppable(context)).values;
        }
    }

    /// Only as many files may be open as the system allows, and there may be more regions.
    void commit() override {
        io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
        for (std::size_t k = 0; k < psfs_.size(); ++k) {
            const auto writer = k == 0 ? std::move(first_writer_) : create(static_cast<index_t>(k));
            writer->write(0, 0, psfs_[k].psf.values.view());
            writer->commit();
        }
        if (request_.regions) io::write_whole_file(request_.list_file(), list_text());
    }

    /// The side file has the same JSON.
    void tell_plan(const Facts& facts) const override {
        const Console& console = facts.console;
        Json& json = facts.json;
        console.fact("image", message(request_.beads, ": ", one_line(input_metadata_)));
        console.warnings(input_warnings(request_.beads, input_metadata_));
        report_optics(console, optics_, request_.beads);
        if (!request_.voxel_warning.empty()) console.warning(request_.voxel_warning);
        json["input"] = to_json(request_.beads, input_metadata_);
        json["size"] = shape_json(size_);
        if (psfs_.empty()) return;
        if (request_.regions)
            for (std::size_t k = 0; k < psfs_.size(); ++k) {
                Json& region = json["regions"].emplace_back(measured_json(psfs_[k].psf));
                region["psf"] = path_of(static_cast<index_t>(k));
                region["at_voxels"] = psfs_[k].at;
                if (model_) region["residual"] = residuals_[k];
            }
        else
            json["measured"] = measured_json(psfs_.front().psf);
        if (!model_) return;
        json["model"] = psf_parameters(*model_);
        if (!request_.regions)
            json["model"]["residual"] = refined_ ? refined_->residual : residuals_.front();
        if (!refined_) return;
        json["refined"] = refined_json(*refined_);
        json["psf"] = psf_parameters(*model_);  // --from reads these parameters
    }

    void tell_result(const Facts& told) const override {
        const Console& console = told.console;
        const BeadPsf& psf = psfs_.front().psf;
        std::size_t used = 0;
        index_t unusual = 0;
        for (const RegionPsf& one : psfs_) {
            used += one.psf.beads.size();
            unusual += one.psf.unusual;
        }
        console.fact("beads", message(used, " of ", psf.found, "; left out: ", psf.crowded,
                                      " crowded, ", psf.saturated, " saturated, ", psf.at_border,
                                      " at the border, ", unusual, " of unusual brightness"));
        if (request_.regions) {
            tell_regions(console);
            return;
        }
        console.fact("light", message(format_number(psf.flux), " a bead, above a background of ",
                                      format_number(psf.background)));
        console.fact("width", width_text(psf));
        if (model_) {
            const PsfFacts facts = psf_facts(*model_);
            const std::string misfit =
                message("; differs by ", format_number(100 * residuals_.front(), 3),
                        " % (root mean square)");
            console.fact(
                "model",
                message(to_string(model_->model), ", ", to_string(model_->modality), ": FWHM ",
                        format_um(facts.fwhm_axial_um), " along z, ",
                        format_um(facts.fwhm_lateral_um), " across", refined_ ? "" : misfit));
        }
        if (refined_) report_refinement(console, *refined_);
    }

    void tell_output(const Facts& facts) const override {
        if (request_.output.empty()) return;
        if (request_.regions) {
            facts.console.fact("output",
                               message(psfs_.size(), " PSFs, listed in ", request_.list_file(),
                                       ", and the beads in ", request_.side_file()));
            return;
        }
        facts.console.fact("output",
                           message(request_.output, request_.write_model ? " (the model)" : "",
                                   ", and the beads in ", request_.side_file()));
    }

    void plan(const ExecutionContext&) override {}
    WorkAmount work() const override { return {}; }

  private:
    std::string path_of(index_t k) const {
        return request_.regions ? request_.file_of_region(k) : request_.output;
    }

    std::unique_ptr<io::ImageWriter> create(index_t k) const {
        return create_psf_file(request_, path_of(k), size_, input_metadata_.voxel_size_um);
    }

    void measure(const ConstImageView& stack, const ExecutionContext& context) {
        const BeadOptions options{size_, bead_saturation(stack, input_metadata_.type)};
        if (request_.regions)
            psfs_ = psfs_from_beads(stack, *request_.regions, options, context);
        else
            psfs_.push_back({{}, psf_from_beads(stack, options, context)});
    }

    std::string list_text() const {
        FieldPsfList list;
        list.in_um = true;
        for (std::size_t k = 0; k < psfs_.size(); ++k) {
            PlacedPsf& placed = list.psfs.emplace_back();
            for (std::size_t a = 0; a < 3; ++a)
                placed.at[a] = psfs_[k].at[a] * *input_metadata_.voxel_size_um[a];
            const io::PathSpec path = io::parse_path(path_of(static_cast<index_t>(k)));
            placed.path = std::filesystem::path(path.file).filename().string();
            if (!path.dataset.empty()) placed.path += ":" + path.dataset;
        }
        return field_psfs_text(list);
    }

    std::string width_text(const BeadPsf& psf) const {
        const auto width = [&](std::size_t axis) {
            return format_um(psf.fwhm[axis] * *input_metadata_.voxel_size_um[axis]);
        };
        return message("FWHM z,y,x: ", width(0), ", ", width(1), ", ", width(2));
    }

    void tell_regions(const Console& console) const {
        for (std::size_t k = 0; k < psfs_.size(); ++k) {
            const std::array<double, 3>& at = psfs_[k].at;
            console.fact("region",
                         message(path_of(static_cast<index_t>(k)), ": at voxel ",
                                 format_number(at[0], 4), ",", format_number(at[1], 4), ",",
                                 format_number(at[2], 4), ", ", psfs_[k].psf.beads.size(),
                                 psfs_[k].psf.beads.size() == 1 ? " bead, " : " beads, ",
                                 width_text(psfs_[k].psf)));
        }
    }

    static Json measured_json(const BeadPsf& psf) {
        Json beads = Json::array();
        for (const Bead& bead : psf.beads)
            beads.push_back({{"center_voxels", bead.at}, {"flux", bead.flux}});
        return {{"found", psf.found},           {"used", psf.beads.size()},
                {"crowded", psf.crowded},       {"saturated", psf.saturated},
                {"at_border", psf.at_border},   {"unusual", psf.unusual},
                {"background", psf.background}, {"flux", psf.flux},
                {"fwhm_voxels", psf.fwhm},      {"beads", beads}};
    }

    void check_refinement() const {
        if (request_.refine.empty()) return;
        if (!model_)
            throw InvalidArgument(
                "--refine starts from a model, and NA or wavelength is not known; give --na and "
                "--wavelength");
        if (input_metadata_.shape.z < 5)
            throw InvalidArgument(
                message("--refine finds a model by how light spreads out of focus, but \"",
                        request_.beads, "\" has ", input_metadata_.shape.z,
                        input_metadata_.shape.z == 1 ? " plane" : " planes",
                        "; record a stack through the beads' focus"));
    }

    const PsfRequest& request_;
    io::ImageMetadata input_metadata_;
    std::unique_ptr<io::ImageReader> reader_;
    index_t channel_ = 0;
    std::unique_ptr<io::ImageWriter> first_writer_;  ///< of the PSF, or of that of the first region
    std::optional<PsfOptions> model_;  ///< model of the PSF; nothing if NA or wavelength is unknown
    Shape3 size_;
    std::vector<RegionPsf> psfs_;        ///< one, or those of the regions
    std::optional<RefinedPsf> refined_;  ///< result of --refine; model_ is its model
    std::vector<double> residuals_;      ///< relative L2 difference of each PSF and the model
    ImageOptics optics_;
};

}  // namespace

void measure_psf(const PsfRequest& request) {
    run_steps<BeadPsfSteps>(request);
}

std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text) {
    std::vector<PsfParameter> parameters;
    for (const std::string& word : pieces_of(text + ',', ',')) {
        const PsfParameter parameter = parse_psf_parameter(word);
        if (std::find(parameters.begin(), parameters.end(), parameter) != parameters.end())
            throw InvalidArgument(message(option, " has ", word, " twice; give it once"));
        parameters.push_back(parameter);
    }
    return parameters;
}

}  // namespace convolume::cli
