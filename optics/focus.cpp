// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "optics/axis_light.hpp"
#include "optics/check.hpp"

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

double brightest_focus_um(const PsfOptions& options, const ExecutionContext& context) {
    if (options.modality == Modality::light_sheet) {
        PsfOptions emission = options;  // the sheet lies where emission is in focus
        emission.modality = Modality::widefield;
        emission.sheet_fwhm_um.reset();
        optics::check_lens(options);
        return brightest_focus_um(emission, context);
    }
    const double paraxial = paraxial_focus_um(options);
    if (focuses_at_zero(options.model)) return 0;
    // Steep rays meet elsewhere, the farther off the more the layers shift the focus.
    const double depth_of_field = optics::depth_of_field_um(options);
    const double reach = std::abs(paraxial) + options.depth_um + 2 * depth_of_field;
    const optics::AxisIntensity brightness(options, paraxial, reach, context);

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
