// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/command.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "cli/app.hpp"
#include "cli/images/file_names.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/report.hpp"
#include "cli/run/run.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "operations/channels/channel_names.hpp"

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

/// Sets the step of --scan-step as the distance of the PSF's voxels along z. Throws InvalidArgument
/// if there is no scan, or if --voxel or the image has another distance: deconvolve would resample
/// the PSF, and planes of a scan cannot be resampled without their displacement.
void set_scan_step(const PsfRequest& request, Json& parameters) {
    if (!request.scan_step_um) return;
    if (!parameters.contains("scan_angle_deg"))
        throw InvalidArgument(
            "--scan-step is the step of a stage scan, and its angle was not given; add "
            "--scan-angle, or leave --scan-step out");
    if (!parameters.contains("voxel_um")) return;  // reported with the other missing parameters
    const double given_um = parameters["voxel_um"][0].get<double>(),
                 step_um = *request.scan_step_um;
    const bool is_typed = request.typed.contains("voxel_um");
    if ((is_typed || !request.like.empty()) && std::abs(given_um - step_um) > 0.01 * step_um)
        throw InvalidArgument(message(
            "--scan-step is ", format_number(step_um), " um, but z of ",
            is_typed ? std::string("--voxel") : message("the image \"", request.like, '"'), " is ",
            format_number(given_um), " um; the z of a recorded scan is the step of the stage, so ",
            is_typed ? "correct one of them"
                     : "correct --scan-step, or save the image with that voxel (convolume convert "
                       "--voxel)"));
    if (is_typed || request.like.empty()) parameters["voxel_um"][0] = step_um;
}

PsfOptions options_of(const PsfRequest& request, const ExecutionContext& context,
                      std::optional<io::ImageMetadata>& image, ImageOptics& optics) {
    const bool from_file = !request.from.empty();
    Json parameters = from_file ? read_psf_parameters(request.from) : Json::object();
    erase_other_modality(parameters, request.typed);
    if (!request.like.empty()) {
        image = io::open_image(request.like, {.stack = request.stack})->metadata();
        if (!request.typed.contains("voxel_um"))
            parameters["voxel_um"] = psf_voxel_for(*image, request.like, "add --voxel");
        parameters.erase("size");
        optics = optics_of(*image, channel_of(request, *image), request.typed, parameters);
        erase_other_modality(parameters, optics.parameters);
        parameters.update(optics.parameters);
    }
    parameters.update(request.typed);
    if (request.brightest) parameters.erase("focus_um");
    set_scan_step(request, parameters);
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
    if (automatic) {
        std::optional<Shape3> like;
        if (image && !request.auto_size) like = image->shape;
        options.size = automatic_psf_size(options, like, request.capture, context);
    }
    return options;
}

void explain_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts) {
    console.fact("width",
                 message("FWHM of this PSF: ", format_um(facts.fwhm_lateral_um), " across, ",
                         format_um(facts.fwhm_axial_um),
                         " along z; Rayleigh: 0.61 λ/NA = ", format_um(facts.rayleigh_lateral_um),
                         ", 2 ni λ/NA² = ", format_um(facts.rayleigh_axial_um)));
    console.fact("voxel", message("at most ", format_um(facts.nyquist_lateral_um), " across, ",
                                  format_um(facts.nyquist_axial_um),
                                  " along z for the finest detail (Nyquist)"));
    console.fact("focus", message("brightest at z = ", format_um(facts.brightest_focus_um),
                                  ", paraxial rays meet at ", format_um(facts.paraxial_focus_um)));
    if (options.modality == Modality::confocal)
        console.fact("pinhole", message(format_um(facts.pinhole_um), " wide in the sample"));
    if (options.modality == Modality::spinning_disc)
        console.fact(
            "disc",
            message("pinholes ", format_um(facts.pinhole_um), " wide in the sample, ",
                    format_um(*options.disc_spacing_um / options.disc_magnification.value_or(1)),
                    " apart"));
    if (facts.total_reflection)
        console.fact("NA", message("effectively ", format_number(facts.effective_na),
                                   ": light of higher apertures comes only from sources within "
                                   "about a wavelength of the glass, since the sample's index is "
                                   "below the NA (total reflection)"));
}

void explain_captured(const Console& console, const Psf& psf) {
    const auto least = std::min_element(psf.captured.begin(), psf.captured.end());
    console.fact(
        "light",
        message("the volume contains ", format_percent(psf.captured[psf.captured.size() / 2]),
                " of the middle plane's light and ", format_percent(*least), " of that of plane ",
                least - psf.captured.begin(), ", the least"));
}

/// Steps that compute a PSF from the typed options, and write it with its parameters.
class PsfSteps : public RunSteps {
  public:
    explicit PsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override {
        options_ = options_of(request_, context, like_metadata_, optics_);
    }

    void plan(const ExecutionContext& context) override { facts_ = psf_facts(options_, context); }

    WorkAmount work() const override { return {static_cast<double>(element_count(options_.size))}; }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        const VoxelSize& voxel = options_.voxel;
        writer_ = create_psf_file(request_, request_.output, options_.size,
                                  {voxel.z_um, voxel.y_um, voxel.x_um});
        psf_ = make_psf(options_, context);
        writer_->write(0, 0, psf_->values.view());
    }

    void commit() override {
        // The parameters are written first, so that a PSF never exists without them.
        io::write_whole_file(request_.side_file(), json_text(*this, nullptr));
        writer_->commit();
    }

    /// The side file has the same JSON.
    void tell_plan(const Facts& facts) const override {
        const Console& console = facts.console;
        if (like_metadata_) console.warnings(note_warnings(request_.like, *like_metadata_));
        report_optics(console, optics_, request_.like);
        if (!request_.voxel_warning.empty()) console.warning(request_.voxel_warning);
        report_psf(console, options_);
        warn_of_psf(console, options_, facts_);
        if (request_.explain) explain_psf(console, options_, facts_);
        facts.json["psf"] = psf_parameters(options_);
        facts.json["facts"] = to_json(facts_);
        if (like_metadata_ && !like_metadata_->notes.empty())
            facts.json["notes"] = like_metadata_->notes;
        if (psf_) {
            facts.json["facts"]["middle_plane_z_um"] = psf_->center_z_um;
            facts.json["facts"]["captured_by_plane"] = psf_->captured;
        }
    }

    void tell_result(const Facts& facts) const override {
        if (request_.explain) explain_captured(facts.console, *psf_);
    }

    void tell_output(const Facts& facts) const override {
        if (!request_.output.empty())
            facts.console.fact("output", message(request_.output, ", and its parameters in ",
                                                 request_.side_file()));
    }

  private:
    const PsfRequest& request_;
    PsfOptions options_;
    PsfFacts facts_;
    std::optional<io::ImageMetadata> like_metadata_;
    ImageOptics optics_;  ///< microscope as described by the file of --like
    std::optional<Psf> psf_;
    std::unique_ptr<io::ImageWriter> writer_;
};

}  // namespace

void compute_psf(const PsfRequest& request) {
    run_steps<PsfSteps>(request);
}

namespace {

std::string beside(const std::string& output, const char* extension) {
    if (output.empty()) return {};
    return std::filesystem::path(io::parse_path(output).file).replace_extension(extension).string();
}

}  // namespace

std::string PsfRequest::side_file() const {
    return beside(output, ".json");
}

std::string PsfRequest::list_file() const {
    return beside(output, ".csv");
}

std::string PsfRequest::file_of_region(index_t k) const {
    return marked_name(output, message('.', k / (regions->y * regions->x), '-',
                                       k / regions->x % regions->y, '-', k % regions->x));
}

std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const std::string& path, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um) {
    io::ImageMetadata metadata;
    metadata.shape = size;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = voxel_size_um;
    metadata.unit = "um";
    return io::create_image(
        path, metadata,
        {.overwrite = request.overwrite, .compression = {}, .software = software_name()});
}

index_t channel_of(const PsfRequest& request, const io::ImageMetadata& image) {
    std::vector<std::string> notes;
    return find_channel("--channel", request.channel, channels_of(image), notes);
}

std::vector<PsfRequest> requests_of_depths(const PsfRequest& request) {
    std::vector<PsfRequest> requests;
    for (const double depth_um : request.depths_um) {
        PsfRequest& one = requests.emplace_back(request);
        one.typed["depth_um"] = depth_um;
        if (!request.output.empty())
            one.output = marked_name(request.output, message('.', format_number(depth_um), "um"));
        for (std::size_t k = 0; k + 1 < requests.size(); ++k)
            if (request.depths_um[k] == depth_um)
                throw InvalidArgument(message("--depths names ", format_number(depth_um),
                                              " um twice; name each depth once"));
    }
    if (!request.output.empty())
        for (const PsfRequest& one : requests) check_outputs(one.files());
    return requests;
}

}  // namespace convolume::cli
