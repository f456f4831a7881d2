// SPDX-License-Identifier: Apache-2.0
#pragma once
// Objects and maps for tests of forward models, on the host and on GPUs.

#include <array>
#include <cmath>

#include "convolume/volume.hpp"
#include "convolume/voxel_map.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

/// Returns values uniform in [0, 1).
inline Volume random_volume(Random& random, const Shape3& shape,
                            PixelType type = PixelType::float64) {
    Volume values(shape, PixelType::float64), typed(shape, type);
    for (index_t i = 0; i < element_count(shape); ++i)
        values.elements<double>()[i] = random.uniform();
    convert_pixels(values.view(), typed.view());
    return typed;
}

/// Returns a turn around y by an angle in radians, of voxels that are `stretch` times as large
/// along z.
inline VoxelMap turned(double angle, const std::array<double, 3>& offset, double stretch = 1) {
    VoxelMap map;
    map.matrix = {{{stretch * std::cos(angle), 0, std::sin(angle)},
                   {0, 1, 0},
                   {-stretch * std::sin(angle), 0, std::cos(angle)}}};
    map.offset = offset;
    return map;
}

}  // namespace convolume::testing
