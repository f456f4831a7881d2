// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/psf.hpp"
#include "optics/psf_light.hpp"
#include "optics/psf_options.hpp"

namespace convolume {

namespace {

struct LevelCrossing {
    double before_um, after_um;  // sampled radii before and after the crossing
    double radius_um;            // radius of the crossing, interpolated between them
};

// Finds the first radius from `low_um` to `high_um` at which the intensity at `z_um` is down to
// `level`.
LevelCrossing find_crossing(const PsfOptions& options, double z_um, double level, double low_um,
                            double high_um, const ExecutionContext& context) {
    constexpr std::size_t steps = 200;
    const double step = (high_um - low_um) / static_cast<double>(steps);
    std::vector<double> radii(steps + 1);
    for (std::size_t i = 0; i <= steps; ++i) radii[i] = low_um + step * static_cast<double>(i);
    const std::vector<double> h = psf_intensity(options, z_um, radii, context);
    std::size_t i = 1;
    while (i < steps && h[i] > level) ++i;
    const double past = (level - h[i]) / (h[i - 1] - h[i]);  // share of a step back from radius i
    return {radii[i - 1], radii[i], radii[i] - past * step};
}

// Returns twice the radius at which the intensity at `z_um` is half of that on the axis.
double fwhm_lateral(const PsfOptions& options, double z_um, const ExecutionContext& context) {
    const double half = psf_intensity(options, z_um, {0.0}, context)[0] / 2;
    const double farthest = 4 * std::max(options.wavelength_um, options.excitation_um.value_or(0)) /
                            options.objective.na;
    const LevelCrossing coarse = find_crossing(options, z_um, half, 0, farthest, context);
    return 2 *
           find_crossing(options, z_um, half, coarse.before_um, coarse.after_um, context).radius_um;
}

double fwhm_axial(const PsfOptions& options, double focus_um, const ExecutionContext& context) {
    const double step = optics::depth_of_field_um(options) / 32;
    // Light sheets may be far thinner than the depth of field of the lens, but never far thicker.
    const optics::AxisIntensity axis(options, focus_um, 4096 * step, context);
    const double half = axis(focus_um) / 2;
    double width = 0;
    for (const double direction : {-1.0, 1.0}) {
        double near = 0, far = step;
        while (axis(focus_um + direction * far) > half && far < 4096 * step) {
            near = far;
            far += step;
        }
        for (int i = 0; i < 40; ++i) {
            const double middle = (near + far) / 2;
            (axis(focus_um + direction * middle) > half ? near : far) = middle;
        }
        width += near;
    }
    return width;
}

}  // namespace

double paraxial_focus_um(const PsfOptions& options) {
    optics::check_lens(options);
    if (!has_layers(options.model)) return 0;
    const Objective& lens = options.objective;
    return lens.ni * (lens.ti0_um / lens.ni0 - lens.ti0_um / lens.ni + lens.tg0_um / lens.ng0 -
                      lens.tg_um / lens.ng - options.depth_um / lens.ns);
}

double brightest_focus_um(const PsfOptions& options, const ExecutionContext& context) {
    if (options.modality == Modality::light_sheet) {
        PsfOptions emission = options;  // the sheet is at the focus of the emission
        emission.modality = Modality::widefield;
        emission.sheet_fwhm_um.reset();
        optics::check_lens(options);
        return brightest_focus_um(emission, context);
    }
    const double paraxial = paraxial_focus_um(options);
    if (!has_layers(options.model)) return 0;
    // Steep rays meet away from the paraxial focus, farther if the layers shift the focus more.
    const double depth_of_field = optics::depth_of_field_um(options);
    const double reach = std::abs(paraxial) + options.depth_um + 2 * depth_of_field;
    const optics::AxisIntensity brightness(options, paraxial, reach, context);

    // Peaks are at least a depth of field wide. Steps of an eighth of it find the highest peak, and
    // a ternary search refines its position.
    const double step = depth_of_field / 8;
    double best = paraxial, highest = brightness(paraxial);
    for (double away = step; away <= reach; away += step)
        for (const double z : {paraxial - away, paraxial + away})
            if (const double value = brightness(z); value > highest) {
                highest = value;
                best = z;
            }
    double low = best - step, high = best + step;
    while (high - low > 1e-6 * depth_of_field) {
        const double third = (high - low) / 3;
        if (brightness(low + third) < brightness(high - third))
            low += third;
        else
            high -= third;
    }
    return (low + high) / 2;
}

PsfFacts psf_facts(const PsfOptions& options, const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_grid(options);
    const Objective& lens = options.objective;
    const bool layered = has_layers(options.model);
    PsfFacts facts{};
    const double wavelength =
        options.modality == Modality::two_photon ? *options.excitation_um : options.wavelength_um;
    facts.rayleigh_lateral_um = 0.61 * wavelength / lens.na;
    facts.rayleigh_axial_um = 2 * lens.ni * wavelength / (lens.na * lens.na);
    facts.nyquist_lateral_um = optics::nyquist_um(options, 2);
    facts.nyquist_axial_um = optics::nyquist_um(options, 0);
    facts.paraxial_focus_um = paraxial_focus_um(options);
    facts.brightest_focus_um = brightest_focus_um(options, context);
    facts.fwhm_lateral_um = fwhm_lateral(options, facts.brightest_focus_um, context);
    facts.fwhm_axial_um = fwhm_axial(options, facts.brightest_focus_um, context);
    facts.effective_na = layered ? std::min(lens.na, lens.ns) : lens.na;
    facts.total_reflection = layered && lens.na > lens.ns;
    if (options.modality == Modality::confocal)
        facts.pinhole_um = 2 * optics::pinhole_radius_um(options);
    if (options.modality == Modality::spinning_disc)
        facts.pinhole_um = 2 * optics::disc_pattern(options).radius_um;
    return facts;
}

}  // namespace convolume
