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

void SimulateSteps::report_plan(const Console& console) const {
    console.fact("phantom", message(request_.image, ": ", one_line(input_metadata_)));
    warn_of_input(console, request_.image, input_metadata_);
    kernels_.report_each(console, [&](const Kernels::Ready& kernel) {
        report_kernel(console, kernel.file, ", normalized to sum 1");
        report_shift(console, kernel.file);
        if (const index_t negative = kernel.file.negative_samples; negative > 0)
            console.warning(message(negative, " negative samples of the PSF were set to 0"));
        warn_of_input(console, kernel.file.path, kernel.file.metadata);
    });
    const Camera& camera = request_.camera;
    console.fact("camera", message("z,y,x ", to_string(output_metadata_.shape), ", ",
                                   format_voxel_size(output_metadata_.voxel_size_um), ", ",
                                   camera.bits, camera.bits == 1 ? " bit" : " bits",
                                   camera.noise ? message(", seed ", camera.seed) : ", no noise"));
    kernels_.report_each(console, [&](const Kernels::Ready& kernel) {
        const Plan plan = kernel.solver->plan();
        cli::report_plan(console, request_.run, plan.to_string() + "\n", plan_line(plan));
    });
    if (light_.place == ScratchImage::Place::file)
        console.fact("light", message(format_bytes(light_.format.bytes()),
                                      " between convolution and camera, in a temporary file"));
}

void SimulateSteps::report_result(const Console& console, const RunTimes& times) const {
    const CameraReport& recorded = recorded_;
    if (negative_samples_ > 0)
        console.warning(message(negative_samples_,
                                " samples of the phantom are negative, but light cannot be; "
                                "subtract less background from the phantom"));
    console.fact("signal",
                 message(format_number(recorded.peak_photons), " photons at the brightest pixel (",
                         format_number(photons_per_unit_), " per unit of brightness)"));
    if (request_.camera.noise)
        console.fact(
            "noise",
            message("signal to noise ", format_number(recorded.signal_to_noise_db(), 4),
                    " dB, at the brightest pixel ",
                    format_number(request_.camera.signal_to_noise(recorded.peak_photons), 4)));
    const auto warn = [&](index_t pixels, const char* what, const char* cure) {
        if (pixels > 0)
            console.warning(message(pixels, " pixels (",
                                    format_number(100 * share(pixels, recorded), 3), " %) ", what,
                                    "; ", cure));
    };
    warn(recorded.saturated, "are saturated", "lower --photons or raise --gain");
    warn(recorded.below_zero, "would be below 0 and were recorded as 0", "raise --offset");
    report_times(console, times);
    report_output(console, request_.output, output_metadata_, request_.create.compression);
    if (!request_.second_output.empty())
        console.fact("truth",
                     message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                             " float32, expected photons"));
}

void SimulateSteps::fill_json(ordered_json& json, const RunTimes* times) const {
    json["input"] = to_json(request_.image, input_metadata_);
    json["kernel"] = kernels_.json_of_each([&](const Kernels::Ready& kernel) {
        ordered_json one = to_json(kernel.file);
        kernels_.add_channels(one, kernel);
        return one;
    });
    json["camera"] = camera_json(request_.camera);
    json["plan"] = kernels_.json_of_each([](const Kernels::Ready& kernel) {
        return ordered_json::parse(kernel.solver->plan().to_json());
    });
    json["light"] = {{"bytes", light_.format.bytes()},
                     {"in_file", light_.place == ScratchImage::Place::file}};
    if (times != nullptr) {
        const CameraReport& recorded = recorded_;
        json["recorded"] = {
            {"photons_per_unit", photons_per_unit_},
            {"peak_photons", recorded.peak_photons},
            {"signal_to_noise_db", finite_or_null(recorded.signal_to_noise_db())},
            {"peak_signal_to_noise",
             finite_or_null(request_.camera.signal_to_noise(recorded.peak_photons))},
            {"saturated_pixels", recorded.saturated},
            {"saturated_share", share(recorded.saturated, recorded)},
            {"below_zero_pixels", recorded.below_zero}};
        json["report"] = report_json(executed_, *times);
    }
    json["output"] = output_json(request_.output, output_metadata_);
    if (!request_.second_output.empty()) json["output"]["truth"] = request_.second_output;
}

}  // namespace convolume::cli
