// SPDX-License-Identifier: Apache-2.0
#include "optics/axis_light.hpp"

#include <algorithm>
#include <cmath>

namespace convolume::optics {

double depth_of_field_um(const PsfOptions& options) {
    const Objective& lens = options.objective;
    const double wavelength =
        std::min(options.wavelength_um, options.excitation_um.value_or(options.wavelength_um));
    return wavelength * lens.ni / (lens.na * lens.na);
}

AxisIntensity::AxisIntensity(const PsfOptions& options, double center_um, double reach_um,
                             const ExecutionContext& context)
    : context_(context),
      response_(options, {0, center_um - reach_um, center_um + reach_um}, {0.0}, 1, context),
      scratch_(static_cast<std::size_t>(response_.scratch_elems())) {}

double AxisIntensity::operator()(double z_um) const {
    throw_if_stopped(context_);
    double value = 0;
    response_.add_intensity(z_um, 1, scratch_.data(), &value);
    return value;
}

double half_depth_for(const PsfOptions& options, double center_um, double share,
                      const ExecutionContext& context) {
    // Rays of all inclinations meet the axis between here and where paraxial ones do, or about as
    // far on the other side.
    const double depth_of_field = depth_of_field_um(options);
    const double shift = std::abs(center_um - brightest_focus_um(options, context));
    double step = depth_of_field / 8;
    double reach =
        2 * (shift + std::abs(center_um - paraxial_focus_um(options))) + 40 * depth_of_field;
    if (options.sheet_fwhm_um) {
        step = std::min(step, *options.sheet_fwhm_um / 16);
        reach = std::min(reach, shift + 3 * *options.sheet_fwhm_um);
    }
    const AxisIntensity axis(options, center_um, reach, context);
    const auto count = static_cast<std::size_t>(reach / step);
    std::vector<double> light(count);  // of both sides, at distances i + 1/2 steps
    for (std::size_t i = 0; i < count; ++i) {
        const double away = (static_cast<double>(i) + 0.5) * step;
        light[i] = axis(center_um - away) + axis(center_um + away);
    }

    // Beyond, light of one lens falls as 1/z², also where a disc lights the whole sample. That of
    // two, as 1/z⁴, has less than a millionth there, and Gaussians have nothing.
    const bool falls_slowly =
        options.model != PsfModel::gaussian &&
        (options.modality == Modality::widefield || options.modality == Modality::spinning_disc);
    double level = 0, total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += light[i] * step;
        const double away = (static_cast<double>(i) + 0.5) * step;
        if (falls_slowly && i >= count / 2) level += light[i] * away * away;
    }
    level /= static_cast<double>(count - count / 2);
    total += level / (static_cast<double>(count) * step);

    const double missing = (1 - share) * total;
    double within = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double after = within + light[i] * step;
        if (after >= share * total)
            return (static_cast<double>(i) + (share * total - within) / (light[i] * step)) * step;
        within = after;
    }
    return falls_slowly ? level / missing : reach;
}

}  // namespace convolume::optics
