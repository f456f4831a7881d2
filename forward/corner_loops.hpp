// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear interpolation along rows of positions, and its adjoint: between four voxels of a plane,
// with vectors of voxels along the axis at right angles to it, or between eight voxels. Compiled
// for each instruction set.

#include <array>

#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"

namespace convolume::forward {

/// Voxels along the free axis, or along a row, that are computed together: a line of the cache, if
/// they are float.
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

/// Positions in an object of the samples of a row of a grid, and the weight of each.
struct SampleRow {
    Shape3 object;
    std::array<double, 3> begin, step;  ///< position of the first one, and the distance of two
    double share;
};

/// Adds a range of samples of an object, times their weight, to `row`.
template <class T>
void gather_samples(const SampleRow& samples, const IndexRange& range, const T* object, T* row);

/// A box of an object's voxels, and the cells in which samples between them are added up. The cell
/// of voxel (z, y, x) has four sums, for (z, y, x) itself, (z, y + 1, x), (z + 1, y, x) and
/// (z + 1, y + 1, x). So a sample adds to two cells, which follow each other along x, where it
/// would add to eight voxels.
struct CornerBox {
    Box3 voxels;

    /// Number of voxels along an axis that are the first neighbor of a sample with one in the box.
    index_t first_neighbors(int axis) const { return voxels.end[axis] - voxels.begin[axis] + 1; }
    /// Voxel of the first cell.
    index_t first_cell(int axis) const { return voxels.begin[axis] - 1; }
    Shape3 cells() const {
        return {first_neighbors(0), first_neighbors(1), first_neighbors(2) + 1};
    }
    index_t sums() const { return 4 * element_count(cells()); }
};

/// Adds the adjoint of gather_samples() to the cells of a box, where samples in `range` are between
/// its voxels.
template <class T>
void scatter_samples(const SampleRow& samples, const IndexRange& range, const CornerBox& box,
                     const T* row, T* cells);
/// Adds the cells of a box to the values of its voxels.
template <class T>
void add_cells(const CornerBox& box, const T* cells, const Shape3& object, T* values);

}  // namespace convolume::forward
