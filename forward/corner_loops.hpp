// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear interpolation between the four voxels around positions in a plane, with vectors of voxels
// along the axis at right angles to it. Compiled for each instruction set.

#include <array>

#include "convolume/shape.hpp"

namespace convolume::forward {

/// Voxels along the free axis that are computed together: a line of the cache, if they are float.
inline constexpr index_t lanes = 16;

/// The map from the voxels of a grid's plane to positions in an object's plane.
struct PlaneMap {
    std::array<index_t, 2> object;   ///< extents of the object's plane
    std::array<index_t, 2> samples;  ///< number of samples of a voxel along each axis of the grid
    std::array<std::array<double, 2>, 2> matrix;
    std::array<double, 2> offset;
};

/// Fills row `u` of the grid, `width` vectors, from a plane of vectors.
template <class T>
void gather_row(const PlaneMap& map, index_t u, index_t width, const T* plane, T* row);
/// Adds the adjoint of gather_row() to the plane. Sums have a fixed order.
template <class T>
void scatter_row(const PlaneMap& map, index_t u, index_t width, const T* row, T* plane);

}  // namespace convolume::forward
