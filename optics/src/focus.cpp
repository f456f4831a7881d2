#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "response.hpp"

namespace convolume {

namespace {

bool focuses_at_zero(PsfModel model) {
    return model == PsfModel::gaussian || model == PsfModel::born_wolf;
}

}  // namespace

double paraxial_focus_um(const PsfOptions& options) {
    optics::check_lens(options);
    if (focuses_at_zero(options.model)) return 0;
    const Objective& lens = options.objective;
    return lens.ni * (lens.ti0_um / lens.ni0 - lens.ti0_um / lens.ni + lens.tg0_um / lens.ng0 -
                      lens.tg_um / lens.ng - options.depth_um / lens.ns);
}

double brightest_focus_um(const PsfOptions& options) {
    if (options.modality == Modality::light_sheet) {
        PsfOptions emission = options;  // the sheet lies where emission is in focus
        emission.modality = Modality::widefield;
        emission.sheet_fwhm_um.reset();
        optics::check_lens(options);
        return brightest_focus_um(emission);
    }
    const double paraxial = paraxial_focus_um(options);
    if (focuses_at_zero(options.model)) return 0;
    const Objective& lens = options.objective;
    // Steep rays meet elsewhere, the farther off the more the layers shift the focus.
    const double wavelength = options.modality == Modality::confocal
                                  ? std::min(*options.excitation_um, options.wavelength_um)
                                  : options.wavelength_um;
    const double depth_of_field = wavelength * lens.ni / (lens.na * lens.na);
    const double reach = std::abs(paraxial) + options.depth_um + 2 * depth_of_field;
    const optics::Response axis(options, {0, paraxial - reach, paraxial + reach}, {0.0}, 1);
    std::vector<double> scratch(static_cast<std::size_t>(axis.scratch_elems()));
    const auto brightness = [&](double z) {
        double value = 0;
        axis.add_intensity(z, 1, scratch.data(), &value);
        return value;
    };

    // Peaks are a depth of field wide at least: an eighth of it finds the highest, thirds close in.
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

}  // namespace convolume
