// SPDX-License-Identifier: Apache-2.0
#pragma once
// Geometry of stacks that a light-sheet microscope records while the stage moves the specimen
// along the cover glass, through a sheet that is oblique to it (lattice and oblique-plane
// microscopes).

#include <string_view>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Axis of the camera along which successive planes are displaced.
enum class ShearAxis { y, x };

/// Geometry of a stage scan. Voxels of the recorded stack are skewed: in the frame of the camera,
/// whose z is the optical axis of detection, plane k lies
///
///     k · step · sin(angle)
///
/// along z, and is displaced along the sheared axis by
///
///     ± k · step · cos(angle)
///
/// @code{.cpp}
/// StageScan scan;
/// scan.angle_deg = 30;
/// scan.step_um = 0.4;
/// scan.pixel_y_um = scan.pixel_x_um = 0.1;
/// assert(std::abs(scan.plane_distance_um() - 0.2) < 1e-12);
/// assert(std::abs(scan.shear_px() - 3.4641) < 1e-4);
/// @endcode
struct CONVOLUME_API StageScan {
    /// Angle in degrees between the light sheet, which is the plane that the camera sees, and the
    /// cover glass, along which the stage moves. Above 0, at most 90.
    double angle_deg = 30;
    double step_um = 0.4;     ///< travel of the stage from plane to plane
    double pixel_y_um = 0.1;  ///< edge of a camera pixel in the specimen, along y
    double pixel_x_um = 0.1;  ///< the same along x
    ShearAxis axis = ShearAxis::y;
    /// Whether planes are displaced to lower indices of the sheared axis, not to higher ones.
    bool opposite = false;

    /// Returns the distance of successive planes along the optical axis.
    double plane_distance_um() const;
    /// Returns the displacement of a plane from the one before, in pixels of the sheared axis.
    /// It is negative if `opposite`.
    double shear_px() const;
    /// Returns the edge of a pixel along the sheared axis.
    double sheared_pixel_um() const { return axis == ShearAxis::y ? pixel_y_um : pixel_x_um; }
    /// Throws InvalidArgument for an angle out of range, and for lengths that are not above 0.
    void check() const;
};

/// Returns "y" or "x".
CONVOLUME_API const char* to_string(ShearAxis);
/// Parses "y" or "x". Throws InvalidArgument for others.
CONVOLUME_API ShearAxis parse_shear_axis(std::string_view);

}  // namespace convolume
