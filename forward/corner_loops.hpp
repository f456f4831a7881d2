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
/// Adds the adjoint to the voxels in `part` of the object. What is added to a voxel does not depend
/// on the part.
template <class T>
void scatter_samples(const SampleRow& samples, const IndexRange& range, const Box3& part,
                     const T* row, T* object);

/// Writes or adds `weight` times a matrix to its transposed one:
///     to[j * to_step + i] = weight * from[i * from_step + j]
template <class T>
void put_transposed(const T* from, index_t from_step, index_t rows, index_t columns, T weight,
                    bool adds, T* to, index_t to_step);

}  // namespace convolume::forward
