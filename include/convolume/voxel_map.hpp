// SPDX-License-Identifier: Apache-2.0
#pragma once
// Affine maps between the voxels of two grids. Axes are z, y, x.

#include <array>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// An affine map from voxels of one grid, such as those of a recording, to voxels of another:
///
///     to[a] = offset[a] + Σ_b matrix[a][b] · from[b]
///
/// Axes a and b are z, y, x, and positions are those of voxels' centers, counted from 0. Without
/// members set, nothing is moved.
/// @code{.cpp}
/// VoxelMap turned;  // around z, by a quarter
/// turned.matrix = {{{1, 0, 0}, {0, 0, 1}, {0, -1, 0}}};
/// const VoxelMap twice = composed(turned, turned);
/// assert(twice.matrix[1][1] == -1 && twice.matrix[2][2] == -1);
/// assert(inverse(turned).matrix[1][2] == -1);
/// @endcode
struct VoxelMap {
    std::array<std::array<double, 3>, 3> matrix{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    std::array<double, 3> offset{};

    /// Returns the position that `from` is mapped to.
    constexpr std::array<double, 3> operator()(const std::array<double, 3>& from) const {
        std::array<double, 3> to = offset;
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t b = 0; b < 3; ++b) to[a] += matrix[a][b] * from[b];
        return to;
    }
    friend bool operator==(const VoxelMap&, const VoxelMap&) = default;
};

/// Returns the map that applies `inner` first, and then `outer`.
CONVOLUME_API VoxelMap composed(const VoxelMap& outer, const VoxelMap& inner);
/// Returns the map back. Throws InvalidArgument if `map` has numbers that are not finite, or a
/// matrix without an inverse.
CONVOLUME_API VoxelMap inverse(const VoxelMap& map);
/// Returns the map between the same places in grids whose voxels have the edges `from` and `to` in
/// µm: `um` maps positions in µm.
CONVOLUME_API VoxelMap between_voxels(const VoxelMap& um, const VoxelSize& from,
                                      const VoxelSize& to);

}  // namespace convolume
