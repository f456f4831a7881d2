// SPDX-License-Identifier: Apache-2.0
#include "deskew/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convolume/error.hpp"
#include "core/option_names.hpp"
#include "deskew/option_table.hpp"

namespace convolume {

namespace deskewing {

namespace {

// Returns the number of samples at a distance of `step` that reach from 0 to `extent` or beyond it.
// Rounding errors make no further sample.
index_t samples_over(double extent, double step) {
    constexpr double tolerance = 1e-9;
    const double steps = std::ceil(extent / step - tolerance);
    if (!(steps < 1e15))
        throw InvalidArgument(
            "the deskewed image would have more than 1e15 voxels along an axis; check step, angle "
            "and voxel sizes");
    return static_cast<index_t>(std::max(steps, 0.0)) + 1;
}

double stretch(double result_um, double recorded_um) {
    return std::max(1.0, result_um / recorded_um);
}

void shear_only(Geometry& geometry, const StageScan& scan) {
    const double longest = static_cast<double>(geometry.recorded.z - 1) * std::abs(geometry.shear);
    const index_t more = samples_over(longest, 1) - 1;
    geometry.result = geometry.recorded;
    geometry.result.y = checked_add(geometry.recorded.y, more);
    geometry.voxel.z_um = scan.plane_distance_um();
    geometry.plane = {1, 0, 0};
    geometry.row = {-geometry.shear, 1, geometry.shear < 0 ? -static_cast<double>(more) : 0.0};
}

// Displaces planes as the scan does, around the middle one.
void skew(Geometry& geometry, const StageScan& scan) {
    const index_t middle = geometry.recorded.z / 2;
    const double farthest = static_cast<double>(std::max(middle, geometry.recorded.z - 1 - middle));
    const index_t more = samples_over(farthest * std::abs(geometry.shear), 1) - 1;
    geometry.result = geometry.recorded;
    geometry.result.y = checked_add(geometry.recorded.y, checked_multiply(2, more));
    geometry.voxel.z_um = scan.step_um;
    geometry.plane = {1, 0, 0};
    geometry.row = {geometry.shear, 1,
                    -static_cast<double>(more) - static_cast<double>(middle) * geometry.shear};
    geometry.shear = -geometry.shear;
}

// Turns the axes of the camera to those of the cover glass. If planes are displaced to higher rows,
// row j of plane k is at
//
//     along the stage:  j · pixel · cos(angle) + k · step
//     along the normal: (last row − j) · pixel · sin(angle)
//
// Otherwise the result is the mirror image of that of the mirrored recording.
void rotate(Geometry& geometry, const StageScan& scan, const VoxelSize& voxel) {
    const double angle = scan.angle_deg * std::numbers::pi / 180;
    const double pixel = scan.sheared_pixel_um();
    const double cosine = scan.angle_deg == 90 ? 0 : std::cos(angle), sine = std::sin(angle);
    const double last_row = static_cast<double>(geometry.recorded.y - 1);
    const double last_plane = static_cast<double>(geometry.recorded.z - 1);
    geometry.voxel = voxel;
    geometry.planes_coincide = false;
    geometry.result = {
        samples_over(last_row * pixel * sine, voxel.z_um),
        samples_over(last_row * pixel * cosine + last_plane * scan.step_um, voxel.y_um),
        geometry.recorded.x};
    const double rows = voxel.z_um / (pixel * sine);  // recorded rows from plane to plane
    const double planes_of_row = pixel * cosine / scan.step_um;  // along the stage
    const double planes = voxel.y_um / scan.step_um;
    geometry.row = {-rows, 0, last_row};
    geometry.plane = {planes_of_row * rows, planes, -planes_of_row * last_row};
    if (scan.opposite) {
        const double last = static_cast<double>(geometry.result.y - 1);
        geometry.row = {rows, 0, 0};
        geometry.plane.of_row = -planes;
        geometry.plane.offset += planes * last;
    }
    geometry.plane_stretch =
        stretch(std::hypot(voxel.y_um * sine, voxel.z_um * cosine), scan.plane_distance_um());
    geometry.row_stretch = stretch(std::hypot(voxel.y_um * cosine, voxel.z_um * sine), pixel);
}

}  // namespace

Geometry geometry_of(const Shape3& recorded, const DeskewOptions& options) {
    const StageScan& scan = options.scan;
    scan.check();
    if (options.output_voxel_um && !options.rotate)
        throw InvalidArgument(sentence(
            "a result that is not rotated has the pixels of the camera; leave out its voxel (",
            OptionName{"output_voxel_um"}, "), or rotate it (", OptionName{"rotate"}, ")"));
    if (options.inverse && options.rotate)
        throw InvalidArgument(
            sentence("an image is brought to the voxels of a scan (", OptionName{"inverse"},
                     ") from the frame of the camera, not ",
                     "from that of the cover glass; leave out ", OptionName{"rotate"}));
    if (recorded.z < 1 || recorded.y < 1 || recorded.x < 1)
        throw InvalidArgument(message("the image to deskew is empty: z,y,x ", to_string(recorded)));
    const double pixel = scan.sheared_pixel_um();
    const double across = scan.axis == ShearAxis::y ? scan.pixel_x_um : scan.pixel_y_um;
    Geometry geometry;
    geometry.recorded = reordered(recorded, scan.axis);
    geometry.shear = scan.shear_px();
    geometry.voxel = {0, pixel, across};
    if (!options.rotate) {
        options.inverse ? skew(geometry, scan) : shear_only(geometry, scan);
        return geometry;
    }
    VoxelSize voxel = options.output_voxel_um.value_or(VoxelSize{pixel, pixel, pixel});
    for (int axis = 0; axis < 3; ++axis)
        if (!(voxel[axis] > 0 && std::isfinite(voxel[axis])))
            throw InvalidArgument(
                sentence("the voxel of the result (", OptionName{"output_voxel_um"}, ") is ",
                         voxel[axis], " um along ", axis_name(axis), "; give lengths above 0"));
    if (scan.axis == ShearAxis::x) std::swap(voxel.y_um, voxel.x_um);
    rotate(geometry, scan, voxel);
    geometry.columns = voxel.x_um / across;
    geometry.column_stretch = stretch(voxel.x_um, across);
    geometry.result.x =
        samples_over(static_cast<double>(geometry.recorded.x - 1), geometry.columns);
    return geometry;
}

}  // namespace deskewing

namespace {

// Returns the map from the recording to the result along planes, rows and columns.
VoxelMap map_of(const deskewing::Geometry& geometry) {
    const deskewing::LinearPosition &plane = geometry.plane, &row = geometry.row;
    VoxelMap to_recorded;
    to_recorded.matrix = {{{plane.of_plane, plane.of_row, 0},
                           {row.of_plane, row.of_row, 0},
                           {0, 0, geometry.columns}}};
    to_recorded.offset = {plane.offset, row.offset, 0};
    return inverse(to_recorded);
}

}  // namespace

DeskewedGrid deskewed_grid(const Shape3& recorded, const DeskewOptions& options) {
    const deskewing::Geometry geometry = deskewing::geometry_of(recorded, options);
    DeskewedGrid grid{deskewing::reordered(geometry.result, options.scan.axis), geometry.voxel,
                      map_of(geometry)};
    static_cast<void>(element_count(grid.shape));
    if (options.scan.axis == ShearAxis::x) {
        std::swap(grid.voxel.y_um, grid.voxel.x_um);
        std::swap(grid.map.matrix[1], grid.map.matrix[2]);
        for (auto& row : grid.map.matrix) std::swap(row[1], row[2]);
        std::swap(grid.map.offset[1], grid.map.offset[2]);
    }
    return grid;
}

CONVOLUME_NAMES(Interpolation, parse_interpolation, parse_name, "interpolation is ")

}  // namespace convolume
