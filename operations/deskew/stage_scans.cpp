// SPDX-License-Identifier: Apache-2.0
#include "operations/deskew/stage_scans.hpp"

#include <cmath>

#include "operations/number_text.hpp"

namespace convolume {

namespace {

/// Returns whether a file's length is another one than that of the scan.
bool differs(const std::optional<double>& given_um, double length_um) {
    return given_um && std::abs(*given_um - length_um) > 0.01 * length_um;
}

void check_straight(const StageScan& scan, const std::optional<double>& given_um) {
    if (differs(given_um, scan.plane_distance_um()))
        throw InvalidArgument(sentence(
            "the planes of the image are ", format_number(*given_um),
            " um apart, but those of the scan are ", format_number(scan.plane_distance_um(), 6),
            " um along the optical axis (step times sine of the angle); bring the image to this "
            "distance, or correct ",
            OptionName{"step_um"}, " or ", OptionName{"voxel"}));
}

}  // namespace

void check_scan_is_given(bool has_angle, bool has_step) {
    if (!has_angle || !has_step)
        throw InvalidArgument(sentence("a stage scan is known by its angle and step; give ",
                                       OptionName{"angle_deg"}, " and ", OptionName{"step_um"},
                                       ", such as 31.5 and 400nm"));
}

std::optional<Sentence> set_pixels(DeskewOptions& options, const io::ImageMetadata& image,
                                   const std::string& name, std::optional<double> pixel_um) {
    const std::string text = name_or(name, "the image");
    if (image.shape.z == 1)
        throw BadData(
            sentence("a stage scan has several planes, but ", text,
                     " has one; if its times or channels are the planes, give the meaning "
                     "of its axes (",
                     OptionName{"axes"}, ")"));
    const auto edge_um = [&](std::size_t axis) {
        const std::optional<double> edge = pixel_um ? pixel_um : image.voxel_size_um[axis];
        if (!edge)
            throw InvalidArgument(sentence(
                text, " does not say the size of its pixels, by which the shear is known; give ",
                OptionName{"pixel"}));
        return *edge;
    };
    StageScan& scan = options.scan;
    scan.pixel_y_um = edge_um(1);
    scan.pixel_x_um = edge_um(2);
    scan.check();
    const std::optional<double>& given_um = image.voxel_size_um[0];
    if (options.inverse) check_straight(scan, given_um);
    if (!differs(given_um, scan.step_um) || !differs(given_um, scan.plane_distance_um())) return {};
    return sentence("the image says that its planes are ", format_number(*given_um),
                    " um apart, but ", OptionName{"step_um"}, " is ", format_number(scan.step_um),
                    " um; give the travel of the stage from plane to plane");
}

void deskew_metadata(io::ImageMetadata& image, const DeskewOptions& options) {
    const DeskewedGrid grid = deskewed_grid(image.shape, options);
    io::move_planes(image, grid.shape, {options.rotate ? image.shape.z : 0, 1, 1});
    image.voxel_size_um = {grid.voxel.z_um, grid.voxel.y_um, grid.voxel.x_um};
    if (image.unit.empty()) image.unit = "um";
}

}  // namespace convolume
