// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the voxels next to one are.

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"

namespace convolume::deconvolve {

/// How far a voxel's neighbors are in memory, for each axis; 0 where there is none, so that what
/// is read there is the voxel itself.
struct Neighbors {
    index_t ahead[3];
    index_t behind[3];
};

struct Grid {
    index_t extent[3] = {1, 1, 1};  ///< z, y, x

    CONVOLUME_DEVICE index_t rows() const { return extent[0] * extent[1]; }

    CONVOLUME_DEVICE Neighbors around(index_t row, index_t x) const {
        const index_t z = row / extent[1];
        const index_t at[3] = {z, row - z * extent[1], x};
        const index_t stride[3] = {extent[1] * extent[2], extent[2], 1};
        Neighbors near;
        for (int axis = 0; axis < 3; ++axis) {
            near.ahead[axis] = at[axis] + 1 < extent[axis] ? stride[axis] : 0;
            near.behind[axis] = at[axis] > 0 ? stride[axis] : 0;
        }
        return near;
    }
    CONVOLUME_DEVICE Neighbors around(index_t i) const {
        const index_t row = i / extent[2];
        return around(row, i - row * extent[2]);
    }
};

/// Some rows of a grid.
struct GridRows : Grid {
    IndexRange own;
    CONVOLUME_DEVICE index_t row_count() const { return own.end - own.begin; }
};

/// What a stage gives for an element of an array, or for a voxel of a grid. Not defined.
template <class Stage>
std::invoke_result_t<Stage, index_t> result_of(const Stage&, index_t);
template <class Stage>
std::invoke_result_t<Stage, index_t> result_of(const Stage&, const IndexRange&);
template <class Stage>
std::invoke_result_t<Stage, index_t, Neighbors> result_of(const Stage&, const Grid&);

}  // namespace convolume::deconvolve
