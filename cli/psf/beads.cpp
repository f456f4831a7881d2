// SPDX-License-Identifier: Apache-2.0
// Runs `convolume psf --from-beads`, with and without --refine.

#include <algorithm>
#include <cmath>
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
#include "convolume/missing_pixels.hpp"
#include "core/report.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the largest value of the pixel type or of a camera, if the stack reaches it.
std::optional<double> saturation_of(PixelType type, const ConstImageView& stack) {
    const auto* const values = static_cast<const float*>(stack.data);
    const double largest =
        static_cast<double>(*std::max_element(values, values + element_count(stack.shape)));
    return is_full_scale(largest, type) ? std::optional(largest) : std::nullopt;
}

Volume as_float32(const ConstImageView& view) {
    if (is_complex(view.type))
        throw BadData("the stack of beads is complex: give its intensity, which is real");
    Volume values(view.shape, PixelType::float32);
    convert_pixels(view, values.view());
    return values;
}

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
        const bool sized = parameters.contains("size");
        if (sized)
            size_ = {parameters["size"][0].get<index_t>(), parameters["size"][1].get<index_t>(),
                     parameters["size"][2].get<index_t>()};
        if (parameters.contains("na") && (parameters.contains("wavelength_um") ||
                                          !needs_parameter(parameters, "wavelength_um"))) {
            parameters["size"] = {1, 1, 1};
            model_ = psf_options_of(std::move(parameters), "the command line");
            refuse_unused_layers(*model_, request_.typed);
            model_->threads = request_.threads;
            if (!sized) size_ = bead_psf_size(*model_, input_metadata_.shape);
            model_->size = size_;
        } else if (!sized) {
            throw InvalidArgument(
                "the size of the beads' PSF is not known; give --na and --wavelength, from which "
                "it "
                "follows, or --size");
        }
        check_refinement();
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        writer_ = create_psf_file(request_, size_, input_metadata_.voxel_size_um);
        Volume read(input_metadata_.shape, input_metadata_.type);
        reader_->read(0, channel_, read.view());
        reader_->check_unchanged();
        const Volume stack = as_float32(read.view());
        read = Volume();
        psf_ = psf_from_beads(stack.view(),
                              {size_, saturation_of(input_metadata_.type, stack.view())}, context);
        if (!request_.refine.empty()) {
            refined_ = refine_psf(psf_->values.view(), *model_,
                                  {request_.refine, std::max(0.0, psf_->background / psf_->flux)},
                                  context);
            model_ = refined_->model;
        }
        if (model_) residual_ = subtract_background(*psf_, *model_, only_stoppable(context));
        if (request_.write_model)
            writer_->write(0, 0, make_psf(*model_, only_stoppable(context)).values.view());
        else
            writer_->write(0, 0, psf_->values.view());
    }

    void commit() override {
        io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
        writer_->commit();
    }

    /// The side file has the same JSON.
    void tell_plan(const Facts& facts) const override {
        const Console& console = facts.console;
        Json& json = facts.json;
        console.fact("image", message(request_.beads, ": ", one_line(input_metadata_)));
        warn_of_input(console, request_.beads, input_metadata_);
        report_optics(console, optics_, request_.beads);
        if (!request_.voxel_warning.empty()) console.warning(request_.voxel_warning);
        json["input"] = to_json(request_.beads, input_metadata_);
        json["size"] = shape_json(size_);
        if (!psf_) return;
        const BeadPsf& psf = *psf_;
        Json beads = Json::array();
        for (const Bead& bead : psf.beads)
            beads.push_back({{"center_voxels", bead.at}, {"flux", bead.flux}});
        json["measured"] = {{"found", psf.found},           {"used", psf.beads.size()},
                            {"crowded", psf.crowded},       {"saturated", psf.saturated},
                            {"at_border", psf.at_border},   {"unusual", psf.unusual},
                            {"background", psf.background}, {"flux", psf.flux},
                            {"fwhm_voxels", psf.fwhm},      {"beads", beads}};
        if (!model_) return;
        json["model"] = psf_parameters(*model_);
        json["model"]["residual"] = refined_ ? refined_->residual : residual_;
        if (!refined_) return;
        json["refined"] = refined_json(*refined_);
        json["psf"] = psf_parameters(*model_);  // --from reads these parameters
    }

    void tell_result(const Facts& told) const override {
        const Console& console = told.console;
        const BeadPsf& psf = *psf_;
        console.fact("beads",
                     message(psf.beads.size(), " of ", psf.found, "; left out: ", psf.crowded,
                             " crowded, ", psf.saturated, " saturated, ", psf.at_border,
                             " at the border, ", psf.unusual, " of unusual brightness"));
        console.fact("light", message(format_number(psf.flux), " a bead, above a background of ",
                                      format_number(psf.background)));
        const auto width = [&](std::size_t axis) {
            return format_um(psf.fwhm[axis] * *input_metadata_.voxel_size_um[axis]);
        };
        console.fact("width", message("FWHM z,y,x: ", width(0), ", ", width(1), ", ", width(2)));
        if (model_) {
            const PsfFacts facts = psf_facts(*model_);
            const std::string misfit = message("; differs by ", format_number(100 * residual_, 3),
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
        facts.console.fact("output",
                           message(request_.output, request_.write_model ? " (the model)" : "",
                                   ", and the beads in ", request_.side_file()));
    }

    void plan(const ExecutionContext&) override {}
    WorkAmount work() const override { return {}; }

  private:
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
    std::unique_ptr<io::ImageWriter> writer_;
    std::optional<PsfOptions> model_;  ///< model of the PSF; nothing if NA or wavelength is unknown
    Shape3 size_;
    std::optional<BeadPsf> psf_;
    std::optional<RefinedPsf> refined_;  ///< result of --refine; model_ is its model
    double residual_ = 0;                ///< relative L2 difference of PSF and model
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
