// SPDX-License-Identifier: Apache-2.0
#pragma once
// The facts that a deconvolution reports of each volume: their names, units and meanings. --json of
// the command, the report in Python and docs/reference/options.json list them.

#include "convolume/deconvolver.hpp"

namespace convolume {

/// Calls use(name, value, unit, meaning) for every fact. Values are numbers, bools or optional
/// numbers; the unit is empty for counts and ratios.
template <class Use>
void for_each_fact(const DeconvolveReport& report, const Use& use) {
    constexpr const char* pixel = "units of the image";
    use("iterations", report.iterations, "", "iterations done");
    use("likelihood", report.last.likelihood, "", "log-likelihood of the last iteration");
    use("residual", report.last.residual, "", "relative residual of the last iteration");
    use("consenting", report.last.consenting, "", "share of voxels that agree, of method rlgc");
    use("coarse_iterations", report.coarse_iterations, "", "iterations on coarser images");
    use("searched", report.searched, "", "iterations that searched for their number");
    use("restarts", report.restarts, "", "steps without extrapolation");
    use("background", report.background, pixel, "background, as given or estimated");
    use("background_error", report.background_error, pixel, "error of an estimated background");
    use("background_range", report.background_range, pixel,
        "difference of the largest and the smallest background, if it varies");
    use("darkest", report.darkest, pixel,
        "mean of the darkest regions, if the background is doubtful");
    use("is_under_haze", report.is_under_haze, "", "whether haze hides the background");
    use("offset", report.photons.offset, pixel, "value of a pixel without light");
    use("offset_error", report.offset_error, pixel, "error of an offset that the noise tells");
    use("gain", report.photons.gain, "photons per unit of the image", "gain in use");
    use("has_gain", report.has_gain, "", "whether the gain was given or estimated");
    use("is_filtered", report.is_filtered, "", "whether neighboring pixels share their noise");
    use("light", report.light, pixel, "mean of the compared pixels above the background");
    use("misfit", report.misfit, "", "deviance of a pixel, 1 for photon noise alone");
    use("tv_weight", report.tv_weight, "", "weight of the total variation of rl-tv");
    use("roughness", report.roughness, "", "weight of the roughness of map");
    use("negative_pixels", report.negative_pixels, "pixels", "pixels of the image below 0");
    use("missing_pixels", report.missing_pixels, "pixels", "pixels that were left out");
    use("saturated_pixels", report.saturated_pixels, "pixels", "pixels that are lower bounds");
    use("seconds", report.executed.seconds, "s", "time of the computation");
    use("clamped_low", report.executed.clamped_low, "voxels", "results below the type's range");
    use("clamped_high", report.executed.clamped_high, "voxels", "results above the type's range");
}

}  // namespace convolume
