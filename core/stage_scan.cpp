// SPDX-License-Identifier: Apache-2.0
#include "convolume/stage_scan.hpp"

#include <cmath>
#include <numbers>

#include "convolume/error.hpp"
#include "core/option_names.hpp"

namespace convolume {

namespace {

double radians(double degrees) {
    return degrees * std::numbers::pi / 180;
}

}  // namespace

double StageScan::plane_distance_um() const {
    return step_um * std::sin(radians(angle_deg));
}

double StageScan::shear_px() const {
    // The cosine of 90 degrees is 0, not the rounding error of π.
    const double cosine = angle_deg == 90 ? 0 : std::cos(radians(angle_deg));
    return (opposite ? -1 : 1) * step_um * cosine / sheared_pixel_um();
}

void StageScan::check() const {
    if (!(angle_deg > 0 && angle_deg <= 90))
        throw InvalidArgument(message("the angle between light sheet and cover glass is ",
                                      angle_deg, " degrees; give one above 0, up to 90"));
    const auto check_length = [](const char* what, double length_um) {
        if (!(length_um > 0 && std::isfinite(length_um)))
            throw InvalidArgument(message(what, " is ", length_um, " um; give a length above 0"));
    };
    check_length("the step of the stage", step_um);
    check_length("the edge of a camera pixel", pixel_y_um);
    check_length("the edge of a camera pixel", pixel_x_um);
}

CONVOLUME_NAMES(ShearAxis, parse_shear_axis, parse_name, "the sheared axis is ")

}  // namespace convolume
