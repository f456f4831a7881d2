#include "cli/simulate/report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/convolve/report.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/run/report.hpp"
#include "cli/text/format.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

using nlohmann::ordered_json;

/// Nothing for what JSON has no number for: no noise at all, or no light.
ordered_json finite_or_null(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

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

void report_plan(const Console& console, const SimulateRequest& request, const SimulateFacts& facts,
                 const Plan& plan) {
    console.fact("phantom", message(request.phantom, ": ", one_line(facts.input)));
    report_kernel(console, facts.kernel, ", normalised to sum 1");
    if (facts.negative_psf_samples > 0)
        console.warning(
            message(facts.negative_psf_samples, " negative samples of the PSF were set to 0"));
    const Camera& camera = request.camera;
    console.fact("camera", message("z,y,x ", to_string(facts.output.shape), ", ",
                                   format_voxel_size(facts.output.voxel_size_um), ", ", camera.bits,
                                   camera.bits == 1 ? " bit" : " bits",
                                   camera.noise ? message(", seed ", camera.seed) : ", no noise"));
    if (request.report.dry_run || console.verbose())
        console.text(plan.to_string() + "\n");
    else
        console.fact("plan", plan_line(plan, facts.volumes()));
}

void report_end(const Console& console, const SimulateRequest& request, const SimulateFacts& facts,
                const Timeline& timeline) {
    const CameraReport& recorded = facts.recorded;
    if (const index_t negative = std::accumulate(facts.negative_samples.begin(),
                                                 facts.negative_samples.end(), index_t{0});
        negative > 0)
        console.warning(message(negative,
                                " samples of the phantom are negative and darken what is around "
                                "them; light is not negative, subtract less background"));
    console.fact("signal",
                 message(format_number(recorded.peak_photons), " photons at the brightest pixel (",
                         format_number(facts.photons_per_unit), " for each unit of brightness)"));
    if (request.camera.noise)
        console.fact(
            "noise",
            message("signal to noise ", format_number(recorded.signal_to_noise_db(), 4),
                    " dB, at the brightest pixel ",
                    format_number(request.camera.signal_to_noise(recorded.peak_photons), 4)));
    const auto warn = [&](index_t pixels, const char* what, const char* cure) {
        if (pixels > 0)
            console.warning(message(pixels, " pixels (",
                                    format_number(100 * share(pixels, recorded), 3), " %) ", what,
                                    "; ", cure));
    };
    warn(recorded.saturated, "are saturated", "lower --photons or raise --gain");
    warn(recorded.below_zero, "would be below 0 and were recorded as 0", "raise --offset");
    console.fact("time", times_text(facts.plan_s, timeline));
    console.fact("output", message(request.output, ": z,y,x ", to_string(facts.output.shape), ' ',
                                   name_of(facts.output.type)));
    if (!request.truth.empty())
        console.fact("truth", message(request.truth, ": z,y,x ", to_string(facts.output.shape),
                                      " float32, expected photons"));
}

std::string to_json(const SimulateRequest& request, const SimulateFacts& facts, const Plan& plan,
                    const Timeline* timeline) {
    ordered_json json;
    json["convolume"] = version;
    json["input"] = to_json(request.phantom, facts.input);
    json["kernel"] = to_json(facts.kernel);
    json["camera"] = camera_json(request.camera);
    json["plan"] = ordered_json::parse(plan.to_json());
    if (timeline != nullptr) {
        const CameraReport& recorded = facts.recorded;
        json["recorded"] = {{"photons_per_unit", facts.photons_per_unit},
                            {"peak_photons", recorded.peak_photons},
                            {"signal_to_noise_db", finite_or_null(recorded.signal_to_noise_db())},
                            {"peak_signal_to_noise",
                             finite_or_null(request.camera.signal_to_noise(recorded.peak_photons))},
                            {"saturated_pixels", recorded.saturated},
                            {"saturated_share", share(recorded.saturated, recorded)},
                            {"below_zero_pixels", recorded.below_zero}};
        json["report"] = report_json(facts.plan_s, facts.executed, *timeline);
    }
    json["output"] = {{"file", nullptr},
                      {"shape", shape_json(facts.output.shape)},
                      {"type", name_of(facts.output.type)}};
    if (!request.output.empty()) json["output"]["file"] = request.output;
    if (!request.truth.empty()) json["output"]["truth"] = request.truth;
    return dump(json);
}

}  // namespace convolume::cli
