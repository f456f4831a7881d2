// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the voxels of a result lie in the recording. Here the axes of recording and result are
// planes, rows and columns: rows follow each other along the sheared axis, so that y and x are
// exchanged if that axis is x.

#include "convolume/deskew.hpp"

namespace convolume::deskewing {

/// Returns a shape or position with y and x exchanged if x is the sheared axis: from the order of
/// files to planes, rows, columns, or back.
inline Index3 reordered(const Index3& at, ShearAxis axis) {
    return axis == ShearAxis::y ? at : Index3{at.z, at.x, at.y};
}
inline Box3 reordered(const Box3& box, ShearAxis axis) {
    return {reordered(box.begin, axis), reordered(box.end, axis)};
}

/// A position in the recording as a function of plane z and row y of the result.
struct LinearPosition {
    double of_plane, of_row, offset;
    double operator()(double z, double y) const { return of_plane * z + of_row * y + offset; }
};

struct Geometry {
    Shape3 recorded;              ///< planes, rows, columns
    Shape3 result;                ///< the same of the result
    VoxelSize voxel;              ///< edges of the result's voxel along planes, rows, columns
    LinearPosition plane;         ///< recorded plane of a voxel of the result
    LinearPosition row;           ///< recorded row of that voxel, if the plane were a whole number
    double columns = 1;           ///< distance of the result's columns, in recorded columns
    double shear = 0;             ///< displacement of a plane from the one before, in rows
    bool planes_coincide = true;  ///< whether planes of the result are recorded ones
    // Factors by which interpolation is stretched, from 1.
    double plane_stretch = 1, row_stretch = 1, column_stretch = 1;
};

/// Returns the geometry of a result. Throws InvalidArgument.
Geometry geometry_of(const Shape3& recorded, const DeskewOptions& options);

}  // namespace convolume::deskewing
