// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/command.hpp"

#include <filesystem>
#include <optional>

#include "cli/app.hpp"
#include "cli/psf/parameters.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

// Erases the file's parameters of a modality if another modality is typed.
void erase_other_modality(Json& parameters, const Json& typed) {
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
    erase_other_modality(parameters, request.typed);
    if (!request.like.empty()) {
        image = io::open_image(request.like)->metadata();
        if (!request.typed.contains("voxel_um"))
            parameters["voxel_um"] = psf_voxel_for(*image, request.like, "add --voxel");
        parameters.erase("size");
        check_channel(request, *image, request.like);
        optics = optics_of(*image, request.channel, request.typed, parameters);
        erase_other_modality(parameters, optics.parameters);
        parameters.update(optics.parameters);
    }
    parameters.update(request.typed);
    if (request.brightest) parameters.erase("focus_um");
    for (const auto& [key, option] :
         {std::pair{"na", "--na"}, {"wavelength_um", "--wavelength"}, {"voxel_um", "--voxel"}})
        if (!from_file && !parameters.contains(key) && needs_parameter(parameters, key))
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
    refuse_unused_layers(options, request.typed);
    options.threads = request.threads;
    if (image && automatic && !request.auto_size)
        options.size = automatic_psf_size(options, image->shape, request.capture, context);
    else if (automatic)
        options.size = psf_size_for(options, request.capture.value_or(0.95), context);
    return options;
}

}  // namespace

std::string PsfRequest::side_file() const {
    if (output.empty()) return {};
    return std::filesystem::path(io::parse_path(output).file).replace_extension(".json").string();
}

std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um) {
    io::ImageMetadata metadata;
    metadata.shape = size;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = voxel_size_um;
    metadata.unit = "um";
    return io::create_image(
        request.output, metadata,
        {.overwrite = request.overwrite, .compression = {}, .software = software_name()});
}

void check_channel(const PsfRequest& request, const io::ImageMetadata& image,
                   const std::string& path) {
    if (request.channel >= image.channels)
        throw InvalidArgument(message("--channel is ", request.channel, ", but \"", path, "\" has ",
                                      image.channels, " channels, from 0; choose one of them"));
}

void PsfSteps::open(const ExecutionContext& context) {
    options_ = options_of(request_, context, like_metadata_, optics_);
}

void PsfSteps::plan(const ExecutionContext& context) {
    facts_ = psf_facts(options_, context);
}

WorkAmount PsfSteps::work() const {
    return {static_cast<double>(element_count(options_.size))};
}

void PsfSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    const VoxelSize& voxel = options_.voxel;
    writer_ = create_psf_file(request_, options_.size, {voxel.z_um, voxel.y_um, voxel.x_um});
    psf_ = make_psf(options_, context);
    writer_->write(0, 0, psf_->values.view());
}

void PsfSteps::commit() {
    // The parameters are written first, so that a PSF never exists without them.
    io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
    writer_->commit();
}

}  // namespace convolume::cli
