// SPDX-License-Identifier: Apache-2.0
#include "convolume/voxel_map.hpp"

#include <cmath>

#include "convolume/error.hpp"

namespace convolume {

VoxelMap composed(const VoxelMap& outer, const VoxelMap& inner) {
    VoxelMap map;
    map.offset = outer(inner.offset);
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b) {
            map.matrix[a][b] = 0;
            for (std::size_t k = 0; k < 3; ++k)
                map.matrix[a][b] += outer.matrix[a][k] * inner.matrix[k][b];
        }
    return map;
}

VoxelMap inverse(const VoxelMap& map) {
    const auto& m = map.matrix;
    // The element of the adjugate is the determinant of the other rows and columns, in cyclic
    // order.
    const auto cofactor = [&](std::size_t a, std::size_t b) {
        const std::size_t r = (a + 1) % 3, s = (a + 2) % 3, c = (b + 1) % 3, d = (b + 2) % 3;
        return m[r][c] * m[s][d] - m[r][d] * m[s][c];
    };
    double determinant = 0, scale = 1;
    for (std::size_t b = 0; b < 3; ++b) determinant += m[0][b] * cofactor(0, b);
    for (std::size_t a = 0; a < 3; ++a) scale *= std::hypot(m[a][0], m[a][1], m[a][2]);
    constexpr double least_share = 1e-9;  // of the volume of a box with the same edges
    const bool is_finite = std::isfinite(scale) && std::isfinite(determinant) &&
                           std::isfinite(map.offset[0] + map.offset[1] + map.offset[2]);
    if (!is_finite || !(std::abs(determinant) > least_share * scale))
        throw InvalidArgument(
            "the transform is not a map between volumes: its matrix has no inverse, or a number "
            "that is not finite; check its twelve numbers");
    VoxelMap back;
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b) back.matrix[a][b] = cofactor(b, a) / determinant;
    back.offset = {0, 0, 0};
    const std::array<double, 3> moved = back(map.offset);
    for (std::size_t a = 0; a < 3; ++a) back.offset[a] = -moved[a];
    return back;
}

VoxelMap between_voxels(const VoxelMap& um, const VoxelSize& from, const VoxelSize& to) {
    VoxelMap map;
    for (std::size_t a = 0; a < 3; ++a) {
        const double edge = to[static_cast<int>(a)];
        map.offset[a] = um.offset[a] / edge;
        for (std::size_t b = 0; b < 3; ++b)
            map.matrix[a][b] = um.matrix[a][b] * from[static_cast<int>(b)] / edge;
    }
    return map;
}

}  // namespace convolume
