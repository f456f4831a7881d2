// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/command.hpp"

#include <filesystem>
#include <optional>

#include "cli/app.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/size_for.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

// Parameters of the file's modality mean nothing to another one.
void forget_other_modality(Json& parameters, const Json& typed) {
    if (!typed.contains("modality") || parameters.value("modality", Json()) == typed["modality"])
        return;
    for (const char* key : {"excitation_um", "pinhole_au", "sheet_fwhm_um", "disc_pinhole_um",
                            "disc_spacing_um", "disc_magnification"})
        parameters.erase(key);
}

PsfOptions options_of(const PsfRequest& request, const ExecutionContext& context,
                      std::optional<io::ImageMetadata>& image, ImageOptics& optics) {
    const bool from_file = !request.from.empty();
    Json parameters = from_file ? read_psf_parameters(request.from) : Json::object();
    forget_other_modality(parameters, request.typed);
    if (!request.like.empty()) {
        image = io::open_image(request.like)->metadata();
        if (!request.typed.contains("voxel_um"))
            parameters["voxel_um"] = voxel_for(*image, request.like, "add --voxel");
        parameters.erase("size");
        if (request.channel >= image->channels)
            throw InvalidArgument(message("--channel is ", request.channel, ", but \"",
                                          request.like, "\" has ", image->channels,
                                          " channels, from 0; choose one of them"));
        optics = optics_of(*image, request.channel, request.typed, parameters);
        forget_other_modality(parameters, optics.parameters);
        parameters.update(optics.parameters);
    }
    parameters.update(request.typed);
    if (request.brightest) parameters.erase("focus_um");
    for (const auto& [key, option] :
         {std::pair{"na", "--na"}, {"wavelength_um", "--wavelength"}, {"voxel_um", "--voxel"}})
        if (!from_file && !parameters.contains(key) && needs(parameters, key))
            throw InvalidArgument(message(
                option, " was not given, but every PSF needs it; add it, or use --from FILE"));
    const bool automatic = request.auto_size || !parameters.contains("size");
    if (automatic) parameters.erase("size");
    if (!automatic && request.capture)
        throw InvalidArgument(
            "--capture sets an automatic size, but a size was given; leave it out or add --size "
            "auto");

    PsfOptions options = psf_options_of(
        std::move(parameters), from_file ? message('"', request.from, '"') : "the command line");
    refuse_idle_layers(options, request.typed);
    options.threads = request.threads;
    if (image && automatic && !request.auto_size)
        options.size = size_for(options, image->shape, request.capture, context);
    else if (automatic)
        options.size = psf_size_for(options, request.capture.value_or(0.95), context);
    return options;
}

}  // namespace

std::string PsfRequest::side_file() const {
    if (output.empty()) return {};
    return std::filesystem::path(io::parse_path(output).file).replace_extension(".json").string();
}

void PsfSteps::open(const ExecutionContext& context) {
    options_ = options_of(request_, context, like_, optics_);
}

void PsfSteps::plan(const ExecutionContext& context) {
    facts_ = psf_facts(options_, context);
}

Work PsfSteps::work() const {
    return {static_cast<double>(element_count(options_.size))};
}

void PsfSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    io::ImageMetadata metadata;
    metadata.shape = options_.size;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = {options_.voxel.z_um, options_.voxel.y_um, options_.voxel.x_um};
    metadata.unit = "um";
    writer_ = io::create_image(
        request_.output, metadata,
        {.overwrite = request_.overwrite, .compression = {}, .software = software_name()});
    psf_ = make_psf(options_, context);
    writer_->write(0, 0, psf_->values.view());
}

void PsfSteps::commit() {
    // The PSF is never there without its parameters.
    io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
    writer_->commit();
}

}  // namespace convolume::cli
