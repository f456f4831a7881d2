// `convolume psf`: from what was typed to files.

#include <filesystem>
#include <iostream>

#include "cli/psf/parameters.hpp"
#include "cli/psf/report.hpp"
#include "cli/psf/request.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/version.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

// Parameters of the file's modality mean nothing to another one.
void forget_other_modality(Json& parameters, const Json& typed) {
    if (!typed.contains("modality") || parameters.value("modality", Json()) == typed["modality"])
        return;
    for (const char* key : {"excitation_um", "pinhole_au", "sheet_fwhm_um"}) parameters.erase(key);
}

// What a file says of layers may stay, what is typed is meant.
void refuse_idle_layers(const PsfOptions& options, const Json& typed) {
    if (has_layers(options.model)) return;
    for (const auto& [key, option] : {std::pair{"ni0", "--ni0"},
                                      {"ng", "--ng"},
                                      {"ng0", "--ng0"},
                                      {"ns", "--ns"},
                                      {"ti0_um", "--ti0"},
                                      {"tg_um", "--tg"},
                                      {"tg0_um", "--tg0"},
                                      {"depth_um", "--depth"}})
        if (typed.contains(key))
            throw InvalidArgument(message(option,
                                          " plays no part in models without layers; leave "
                                          "it out, or choose --model gibson-lanni or "
                                          "vectorial"));
}

PsfOptions options_of(const PsfRequest& request, const ExecutionContext& context) {
    const bool from_file = !request.from.empty();
    Json parameters = from_file ? read_psf_parameters(request.from) : Json::object();
    forget_other_modality(parameters, request.typed);
    parameters.update(request.typed);
    if (request.brightest) parameters.erase("focus_um");
    for (const auto& [key, option] :
         {std::pair{"na", "--na"}, {"wavelength_um", "--wavelength"}, {"voxel_um", "--voxel"}})
        if (!from_file && !parameters.contains(key))
            throw InvalidArgument(
                message(option, " was not given, which every PSF needs; add it, or --from FILE"));
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
    if (automatic) options.size = psf_size_for(options, request.capture.value_or(0.95), context);
    return options;
}

// psf.tif and psf.h5:/dataset have psf.json beside them.
std::string side_file_of(const std::string& output) {
    if (output.empty()) return {};
    return std::filesystem::path(io::parse_path(output).file).replace_extension(".json").string();
}

Psf make_with_progress(const PsfOptions& options, const Console& console,
                       ExecutionContext context) {
    ProgressMeter meter(console.out(), progress_style(console),
                        static_cast<double>(element_count(options.size)), steady_clock_s);
    context.progress = [&meter](double fraction) { meter.update(fraction); };
    return make_psf(options, context);
}

std::unique_ptr<io::ImageWriter> create_output(const PsfRequest& request,
                                               const PsfOptions& options) {
    io::ImageMetadata metadata;
    metadata.shape = options.size;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = {options.voxel.z_um, options.voxel.y_um, options.voxel.x_um};
    metadata.unit = "um";
    io::CreateOptions create;
    create.overwrite = request.overwrite;
    create.software = std::string("convolume ") + version;
    return io::create_image(request.output, metadata, create);
}

}  // namespace

void run_psf(const PsfRequest& request) {
    const Console console(std::cerr, request.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    ExecutionContext context;
    context.stop = interrupt.stop();
    check_outputs({request.output, side_file_of(request.output)}, {}, request.overwrite);
    const PsfOptions options = options_of(request, context);
    const PsfFacts facts = psf_facts(options, context);
    report_psf(console, options);
    warn_of_exchanged_wavelengths(console, options);
    warn_of_coarse_voxels(console, options, facts);
    if (request.explain) explain_psf(console, options, facts);
    if (request.output.empty()) {
        if (request.json) write_stdout(psf_json(options, facts, nullptr));
        return;
    }
    const auto writer = create_output(request, options);
    const Psf psf = make_with_progress(options, console, context);
    const std::string json = psf_json(options, facts, &psf);
    writer->write(0, 0, psf.values.view());
    throw_if_stopped(context);
    // The PSF is never there without its parameters.
    write_whole_file(side_file_of(request.output), json);
    writer->commit();
    if (request.explain) explain_captured(console, psf);
    if (request.json) write_stdout(json);
    console.fact("output",
                 message(request.output, ", and its parameters in ", side_file_of(request.output)));
}

}  // namespace convolume::cli
