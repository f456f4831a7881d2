#include "axis_light.hpp"

#include <algorithm>
#include <cmath>

namespace convolume::optics {

double depth_of_field_um(const PsfOptions& options) {
    const Objective& lens = options.objective;
    const double wavelength =
        std::min(options.wavelength_um, options.excitation_um.value_or(options.wavelength_um));
    return wavelength * lens.ni / (lens.na * lens.na);
}

AxisIntensity::AxisIntensity(const PsfOptions& options, double center_um, double reach_um)
    : response_(options, {0, center_um - reach_um, center_um + reach_um}, {0.0}, 1),
      scratch_(static_cast<std::size_t>(response_.scratch_elems())) {}

double AxisIntensity::operator()(double z_um) const {
    double value = 0;
    response_.add_intensity(z_um, 1, scratch_.data(), &value);
    return value;
}

double half_depth_for(const PsfOptions& options, double center_um, double share) {
    // Rays of all inclinations meet the axis between here and where paraxial ones do, or about as
    // far on the other side.
    const double depth_of_field = depth_of_field_um(options);
    const double shift = std::abs(center_um - brightest_focus_um(options));
    double step = depth_of_field / 8;
    double reach =
        2 * (shift + std::abs(center_um - paraxial_focus_um(options))) + 40 * depth_of_field;
    if (options.sheet_fwhm_um) {
        step = std::min(step, *options.sheet_fwhm_um / 16);
        reach = std::min(reach, shift + 3 * *options.sheet_fwhm_um);
    }
    const AxisIntensity axis(options, center_um, reach);
    const auto count = static_cast<std::size_t>(reach / step);
    std::vector<double> light(count);  // of both sides, at distances i + 1/2 steps
    for (std::size_t i = 0; i < count; ++i) {
        const double away = (static_cast<double>(i) + 0.5) * step;
        light[i] = axis(center_um - away) + axis(center_um + away);
    }

    // Beyond, light falls as a power of the distance: 1/z² for one lens, the square of that for
    // confocal; Gaussians have nothing there.
    const bool none =
        options.model == PsfModel::gaussian || options.modality == Modality::light_sheet;
    const int power = options.modality == Modality::confocal ? 4 : 2;
    double level = 0, total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += light[i] * step;
        if (i >= count / 2)
            level += light[i] * std::pow((static_cast<double>(i) + 0.5) * step, power);
    }
    level = none ? 0 : level / static_cast<double>(count - count / 2);
    const double end = static_cast<double>(count) * step;
    total += level / ((power - 1) * std::pow(end, power - 1));

    const double missing = (1 - share) * total;
    double within = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double after = within + light[i] * step;
        if (after >= share * total)
            return (static_cast<double>(i) + (share * total - within) / (light[i] * step)) * step;
        within = after;
    }
    return std::pow(level / ((power - 1) * missing), 1.0 / (power - 1));
}

}  // namespace convolume::optics
