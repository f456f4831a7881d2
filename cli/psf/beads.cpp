// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/beads.hpp"

#include <algorithm>
#include <limits>

#include "cli/app.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/psf_report.hpp"
#include "cli/psf/refinement.hpp"
#include "cli/psf/size_for.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Five Airy radii across and twice Rayleigh's distance along z to either side, as far as the stack
/// allows.
Shape3 usual_size(const PsfOptions& model, const Shape3& stack) {
    const Objective& lens = model.objective;
    const double wavelength =
        model.modality == Modality::two_photon ? *model.excitation_um : model.wavelength_um;
    const double across = 5 * 0.61 * wavelength / lens.na;
    const double along = 4 * lens.ni * wavelength / (lens.na * lens.na);
    Shape3 size;
    for (int axis = 0; axis < 3; ++axis) {
        const double half = std::ceil((axis == 0 ? along : across) / model.voxel[axis]);
        const index_t most = std::max<index_t>(3, stack[axis] * 3 / 4 - 1) | 1;
        size[axis] = std::min(2 * static_cast<index_t>(std::min(half, 1e6)) + 1, most);
    }
    return size;
}

/// The value that no sample of the type, or of a camera, exceeds, if the stack reaches it.
std::optional<double> saturation_of(PixelType type, const ConstImageView& stack) {
    const auto* const values = static_cast<const float*>(stack.data);
    const double largest =
        static_cast<double>(*std::max_element(values, values + element_count(stack.shape)));
    for (const int bits : {7, 8, 10, 11, 12, 13, 14, 15, 16}) {
        const bool of_signed = bits == 7 || bits == 15;
        if (of_signed && type != (bits == 7 ? PixelType::int8 : PixelType::int16)) continue;
        if (largest == std::ldexp(1.0, bits) - 1) return largest;
    }
    return std::nullopt;
}

Volume as_float32(const ConstImageView& view) {
    Volume values(view.shape, PixelType::float32);
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const T* const from = static_cast<const T*>(view.data);
            std::transform(from, from + element_count(view.shape), values.elements<float>(),
                           [](T value) { return static_cast<float>(value); });
        } else {
            throw BadData("the stack of beads is complex: give its intensity, which is real");
        }
    });
    return values;
}

ExecutionContext silenced(const ExecutionContext& context) {
    ExecutionContext silent;
    silent.stop = context.stop;
    return silent;
}

}  // namespace

void BeadPsfSteps::open(const ExecutionContext&) {
    reader_ = io::open_image(request_.beads);
    input_ = reader_->metadata();
    if (request_.channel >= input_.channels)
        throw InvalidArgument(message("--channel is ", request_.channel, ", but \"", request_.beads,
                                      "\" has ", input_.channels,
                                      " channels, from 0; choose one of them"));
    optics_ = optics_of(input_, request_.channel, request_.typed);
    Json parameters = optics_.parameters;
    parameters.update(request_.typed);
    if (!parameters.contains("voxel_um"))
        parameters["voxel_um"] = voxel_for(input_, request_.beads, "add --voxel");
    const Json voxel = parameters["voxel_um"];
    for (std::size_t axis = 0; axis < 3; ++axis)
        input_.voxel_size_um[axis] = voxel.at(axis).get<double>();
    const bool sized = parameters.contains("size");
    if (sized)
        size_ = {parameters["size"][0].get<index_t>(), parameters["size"][1].get<index_t>(),
                 parameters["size"][2].get<index_t>()};
    if (parameters.contains("na") &&
        (parameters.contains("wavelength_um") || !needs(parameters, "wavelength_um"))) {
        parameters["size"] = {1, 1, 1};
        model_ = psf_options_of(std::move(parameters), "the command line");
        refuse_idle_layers(*model_, request_.typed);
        model_->threads = request_.threads;
        if (!sized) size_ = usual_size(*model_, input_.shape);
        model_->size = size_;
    } else if (!sized) {
        throw InvalidArgument(
            "the size of the beads' PSF is not known; give --na and --wavelength, from which it "
            "follows, or --size");
    }
    check_refinement();
}

void BeadPsfSteps::check_refinement() const {
    if (request_.refine.empty()) return;
    if (!model_)
        throw InvalidArgument(
            "--refine starts from a model, and NA or wavelength is not known; give --na and "
            "--wavelength");
    if (input_.shape.z < 5)
        throw InvalidArgument(message(
            "--refine finds a model by how light spreads out of focus, but \"", request_.beads,
            "\" has ", input_.shape.z, input_.shape.z == 1 ? " plane" : " planes",
            "; record a stack through the beads' focus"));
}

void BeadPsfSteps::report_plan(const Console& console) const {
    console.fact("image", message(request_.beads, ": ", one_line(input_)));
    warn_of_input(console, request_.beads, input_);
    report_optics(console, optics_, request_.beads);
    if (!request_.voxel_doubt.empty()) console.warning(request_.voxel_doubt);
}

void BeadPsfSteps::refine_model(const ExecutionContext& context) {
    refined_ = refine_psf(psf_->values.view(), *model_,
                          {request_.refine, std::max(0.0, psf_->background / psf_->flux)}, context);
    model_ = refined_->model;
}

void BeadPsfSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    io::ImageMetadata metadata;
    metadata.shape = size_;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = input_.voxel_size_um;
    metadata.unit = "um";
    writer_ = io::create_image(
        request_.output, metadata,
        {.overwrite = request_.overwrite, .compression = {}, .software = software_name()});
    Volume read(input_.shape, input_.type);
    reader_->read(0, request_.channel, read.view());
    reader_->check_unchanged();
    const Volume stack = as_float32(read.view());
    read = Volume();
    psf_ = psf_from_beads(stack.view(), {size_, saturation_of(input_.type, stack.view())}, context);
    if (!request_.refine.empty()) refine_model(context);
    if (model_) residual_ = subtract_background(*psf_, *model_, silenced(context));
    if (request_.write_model)
        writer_->write(0, 0, make_psf(*model_, silenced(context)).values.view());
    else
        writer_->write(0, 0, psf_->values.view());
}

void BeadPsfSteps::commit() {
    io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
    writer_->commit();
}

void BeadPsfSteps::report_result(const Console& console, const RunTimes&) const {
    const BeadPsf& psf = *psf_;
    console.fact("beads", message(psf.beads.size(), " of ", psf.found, "; left out: ", psf.crowded,
                                  " crowded, ", psf.saturated, " saturated, ", psf.at_border,
                                  " at the border, ", psf.unusual, " of unusual brightness"));
    console.fact("light", message(format_number(psf.flux), " a bead, above a background of ",
                                  format_number(psf.background)));
    const auto width = [&](std::size_t axis) {
        return um(psf.fwhm[axis] * *input_.voxel_size_um[axis]);
    };
    console.fact("width", message("FWHM z,y,x: ", width(0), ", ", width(1), ", ", width(2)));
    if (model_) {
        const PsfFacts facts = psf_facts(*model_);
        const std::string misfit =
            message("; differs by ", format_number(100 * residual_, 3), " % (root mean square)");
        console.fact("model",
                     message(to_string(model_->model), ", ", to_string(model_->modality), ": FWHM ",
                             um(facts.fwhm_axial_um), " along z, ", um(facts.fwhm_lateral_um),
                             " across", refined_ ? "" : misfit));
    }
    if (refined_) report_refinement(console, *refined_);
    console.fact("output", message(request_.output, request_.write_model ? " (the model)" : "",
                                   ", and the beads in ", request_.side_file()));
}

void BeadPsfSteps::fill_json(nlohmann::ordered_json& json, const RunTimes*) const {
    json["input"] = to_json(request_.beads, input_);
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
    json["refined"] = to_json(*refined_);
    json["psf"] = psf_parameters(*model_);  // for --from
}

}  // namespace convolume::cli
