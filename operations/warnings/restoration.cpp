// SPDX-License-Identifier: Apache-2.0
#include "operations/warnings/restoration.hpp"

#include <algorithm>
#include <cmath>

#include "operations/number_text.hpp"

namespace convolume {

namespace {

using Reports = std::vector<DeconvolveReport>;
using Warnings = std::vector<Sentence>;

/// Returns the share of its light by which a result may be wrong if its background is.
double doubtful_light(const DeconvolveReport& volume) {
    const bool is_doubtful = volume.is_under_haze || volume.darkest;
    if (!is_doubtful || !volume.background_error || !(volume.light > 0)) return 0;
    return *volume.background_error / volume.light;
}

/// Returns "; the light of the result may be wrong by 12 %", or nothing.
std::string doubt_of(const DeconvolveReport& volume) {
    const double share = doubtful_light(volume);
    if (share <= 0) return {};
    return message("; the light of the result may be wrong by ",
                   format_number(std::ceil(100 * share), 3), " %");
}

constexpr const char* if_known = " if it is known";

/// Warns of the volume whose background is the most doubtful for haze.
void warn_of_haze(const Reports& volumes, Warnings& warnings) {
    // A tenth of the light is the error of every coarse restoration; this is as much for the
    // photons.
    const double noticeable = std::hypot(0.1, 0.1);
    const auto most = std::max_element(volumes.begin(), volumes.end(),
                                       [](const DeconvolveReport& a, const DeconvolveReport& b) {
                                           return doubtful_light(a) < doubtful_light(b);
                                       });
    if (most == volumes.end() || doubtful_light(*most) <= noticeable) return;
    warnings.push_back(
        sentence("haze lies over the image, so that its background is doubtful: it is taken to be ",
                 format_number(most->background), " ± ", format_number(*most->background_error, 2),
                 doubt_of(*most), "; give it by ", OptionName{"background"}, if_known));
}

/// Warns if the background contradicts the darkest regions of a volume, or if no region is dark.
void warn_of_background(const Reports& volumes, Warnings& warnings) {
    const DeconvolveReport* darkest = nullptr;
    for (const DeconvolveReport& volume : volumes)
        if (volume.darkest && (darkest == nullptr || *volume.darkest < *darkest->darkest))
            darkest = &volume;
    if (darkest == nullptr) return warn_of_haze(volumes, warnings);
    const std::string mean = format_number(*darkest->darkest);
    const std::string background = format_number(darkest->background);
    if (darkest->background > *darkest->darkest)
        warnings.push_back(sentence("the background of ", background,
                                    " is above the image's darkest regions, whose mean is ", mean,
                                    ": dim structures vanish; lower ", OptionName{"background"},
                                    ", or leave it out"));
    else
        warnings.push_back(sentence("the image may have no dark region: its background is between ",
                                    format_number(std::max(0.0, darkest->photons.offset)), " and ",
                                    mean, ", the mean of the darkest regions, and is taken to be ",
                                    background, doubt_of(*darkest), "; give it by ",
                                    OptionName{"background"}, if_known));
}

/// Warns of an image whose noise is not that of photons.
void warn_of_filter(const RestorationFacts& facts, Warnings& warnings) {
    const auto filtered = [](const DeconvolveReport& volume) { return volume.is_filtered; };
    if (std::none_of(facts.volumes.begin(), facts.volumes.end(), filtered)) return;
    const Sentence cure =
        facts.options.hold_out
            ? sentence("the usual ", filtered_iterations,
                       " iterations were taken, not those that held-out photons find; restore the "
                       "image as it was recorded, or give ",
                       OptionName{"iterations"})
            : sentence("give ", OptionName{"gain"}, ", or restore the image as it was recorded");
    warnings.push_back(sentence(
        "neighboring pixels share their noise: the image was filtered, resampled, denoised or "
        "compressed, and its noise does not tell how many photons it has; ",
        cure));
}

Sentence cure_of_misfit(const RestorationFacts& facts) {
    if (!facts.psf_is_made)
        return sentence("check voxel sizes and wavelength, or measure the PSF from beads");
    if (facts.psf_is_refined)
        return sentence("measure the PSF from beads, or use ", OptionName{"depth_range"},
                        " if it varies");
    if (!facts.better_optics)
        return sentence("try ", OptionName{"refine_psf"},
                        ", which fits NA, index and depth to the image");
    if (facts.better_optics->empty())
        return sentence(
            "no other NA, index or depth fits better: check voxel sizes and wavelength, or measure "
            "the PSF from beads");
    return sentence(*facts.better_optics, " fits better: check these parameters, or try ",
                    OptionName{"refine_psf"}, ", which finds them");
}

void warn_of_misfit(const RestorationFacts& facts, Warnings& warnings) {
    const auto worst = misfitting_volume(facts.volumes);
    if (!worst) return;
    warnings.push_back(sentence("the PSF does not fit the image: what remains is ",
                                format_number(*facts.volumes[*worst].misfit, 3),
                                " times the noise; ", cure_of_misfit(facts)));
}

void warn_of_lost_light(double least_share, Warnings& warnings) {
    constexpr double noticeable = 0.1;
    if (!(least_share < 1 - noticeable)) return;
    warnings.push_back(sentence(
        "the result has only ", format_number(std::round(100 * least_share), 3),
        " % of the image's light above the background: the rest is ascribed to the specimen "
        "beyond the image's edges; brightness at the edges is doubtful"));
}

}  // namespace

std::optional<std::size_t> misfitting_volume(const std::vector<DeconvolveReport>& volumes) {
    // Half more than noise. Phantoms with their own PSF have less than 1.1.
    double most = 1.5;
    std::optional<std::size_t> worst;
    for (std::size_t i = 0; i < volumes.size(); ++i) {
        const double misfit = volumes[i].searched > 0 ? volumes[i].misfit.value_or(0) : 0;
        if (misfit < most) continue;
        most = misfit;
        worst = i;
    }
    return worst;
}

Warnings restoration_warnings(const RestorationFacts& facts) {
    Warnings warnings;
    warn_of_misfit(facts, warnings);
    warn_of_filter(facts, warnings);
    // Methods that compare all pixels take saturated ones for what they are not.
    if (!facts.saturated.empty())
        warnings.push_back(sentence(facts.saturated,
                                    ": what is there comes out too dim and too wide; take them as "
                                    "lower bounds (",
                                    OptionName{"method"}, " rl), or record with less light"));
    warn_of_background(facts.volumes, warnings);
    if (facts.least_light) warn_of_lost_light(*facts.least_light, warnings);
    index_t negative = 0;
    bool lacks_gain = false;
    for (const DeconvolveReport& volume : facts.volumes) {
        negative += volume.negative_pixels;
        lacks_gain = lacks_gain || !volume.has_gain;
    }
    if (negative > 0)
        warnings.push_back(sentence(negative, " negative pixels of the image were read as 0"));
    if (facts.options.splits > 0 && lacks_gain)
        warnings.push_back(sentence(
            "the noise does not tell how many photons the image has; one for each unit is assumed "
            "for the uncertainty; give ",
            OptionName{"gain"}));
    return warnings;
}

}  // namespace convolume
