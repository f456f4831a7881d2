// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume simulate`: sentences for people, JSON for programs.

#include <nlohmann/json.hpp>

#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/simulate/command.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

using nlohmann::ordered_json;

double share(index_t count, const CameraReport& report) {
    return static_cast<double>(count) / static_cast<double>(report.pixels);
}

ordered_json camera_json(const Camera& camera) {
    return {{"quantum_efficiency", camera.quantum_efficiency},
            {"background_photons", camera.background_photons},
            {"dark_e_per_s", camera.dark_e_per_s},
            {"exposure_s", camera.exposure_s},
            {"read_noise_e", camera.read_noise_e},
            {"full_well_e", camera.full_well_e},
            {"gain_e_per_adu", camera.gain_e_per_adu},
            {"offset_adu", camera.offset_adu},
            {"bits", camera.bits},
            {"noise", camera.noise},
            {"seed", camera.seed}};
}

}  // namespace

void SimulateSteps::tell_plan(const Facts& facts) const {
    ImageSteps::tell_plan(facts);
    const Console& console = facts.console;
    const Camera& camera = request_.camera;
    console.fact("camera", message("z,y,x ", to_string(output_metadata_.shape), ", ",
                                   format_voxel_size(output_metadata_.voxel_size_um), ", ",
                                   camera.bits, camera.bits == 1 ? " bit" : " bits",
                                   camera.noise ? message(", seed ", camera.seed) : ", no noise"));
    facts.json["camera"] = camera_json(camera);
    kernels_.tell_each(facts, [&](const Kernels::Ready& ready, auto&, auto& plan) {
        report_kernel(console, ready.file, ", normalized to sum 1");
        report_shift(console, ready.file);
        if (const index_t negative = ready.file.negative_samples; negative > 0)
            console.warning(message(negative, " negative samples of the PSF were set to 0"));
        warn_of_input(console, ready.file.path, ready.file.metadata);
        plan = tell_plan_of(*ready.solver, console, request_.run);
    });
    const bool in_file = light_.place == ScratchImage::Place::file;
    if (in_file)
        console.fact("light", message(format_bytes(light_.format.bytes()),
                                      " between convolution and camera, in a temporary file"));
    facts.json["light"] = {{"bytes", light_.format.bytes()}, {"in_file", in_file}};
}

void SimulateSteps::tell_result(const Facts& facts) const {
    const CameraReport& recorded = recorded_;
    const Console& console = facts.console;
    if (negative_samples_ > 0)
        console.warning(message(negative_samples_,
                                " samples of the phantom are negative, but light cannot be; "
                                "subtract less background from the phantom"));
    console.fact("signal",
                 message(format_number(recorded.peak_photons), " photons at the brightest pixel (",
                         format_number(photons_per_unit_), " per unit of brightness)"));
    const double noise_db = recorded.signal_to_noise_db();
    const double at_peak = request_.camera.signal_to_noise(recorded.peak_photons);
    if (request_.camera.noise)
        console.fact("noise", message("signal to noise ", format_number(noise_db, 4),
                                      " dB, at the brightest pixel ", format_number(at_peak, 4)));
    const auto warn = [&](index_t pixels, const char* what, const char* cure) {
        if (pixels > 0)
            console.warning(message(pixels, " pixels (",
                                    format_number(100 * share(pixels, recorded), 3), " %) ", what,
                                    "; ", cure));
    };
    warn(recorded.saturated, "are saturated", "lower --photons or raise --gain");
    warn(recorded.below_zero, "would be below 0 and were recorded as 0", "raise --offset");
    facts.json["recorded"] = {{"photons_per_unit", photons_per_unit_},
                              {"peak_photons", recorded.peak_photons},
                              {"signal_to_noise_db", finite_or_null(noise_db)},
                              {"peak_signal_to_noise", finite_or_null(at_peak)},
                              {"saturated_pixels", recorded.saturated},
                              {"saturated_share", share(recorded.saturated, recorded)},
                              {"below_zero_pixels", recorded.below_zero}};
}

void SimulateSteps::tell_output(const Facts& facts) const {
    ImageSteps::tell_output(facts);
    if (request_.second_output.empty()) return;
    facts.json["output"]["truth"] = request_.second_output;
    facts.console.fact(
        "truth", message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                         " float32, expected photons"));
}

}  // namespace convolume::cli
