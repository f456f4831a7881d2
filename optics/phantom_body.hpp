// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one thing phantoms are made of: ellipsoids along the axes, hollow or not. Each is a lattice
// of points that is anchored on its center and fits a whole number of times into a voxel; every
// point is shared out to the eight voxels around it as linear interpolation does. Hence the
// interior is exactly even (the triangles add up to 1 on such a lattice), and total and center of
// mass are exact at any position.

#include <array>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::optics {

using Point = std::array<double, 3>;  // z, y, x

/// The lattice of ellipsoids with half axes `radius`, in voxels, without their middle: an ellipsoid
/// that is smaller by the factor `hollow`.
class BodyLattice {
  public:
    explicit BodyLattice(const Point& radius, double hollow = 0);

    double volume() const { return volume_; }  ///< in voxels
    const Point& radius() const { return radius_; }

    /// Adds an ellipsoid of `value` at `center` (in voxels) to rows [y_begin, y_end) of plane z:
    /// `rows` has `width` elements each.
    void add(const Point& center, double value, index_t z, index_t y_begin, index_t y_end,
             index_t width, double* rows) const;

  private:
    struct Row {
        index_t y;       // number of the lattice's row, from the center
        index_t points;  // on either side of the middle one
        index_t hollow;  // of these are left out, and the middle one; -1: all stay
    };

    Point radius_;
    double volume_;
    std::array<index_t, 3> fineness_;  // lattice points per voxel
    index_t layers_;                   // on either side of the middle one
    std::vector<Row> rows_;
    std::vector<std::size_t> first_row_;  // of each layer, and the end
    double points_ = 0;
};

}  // namespace convolume::optics
