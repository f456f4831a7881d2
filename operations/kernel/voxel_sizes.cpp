// SPDX-License-Identifier: Apache-2.0
#include "operations/kernel/voxel_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace convolume {

DifferingVoxels differing_voxels(const KnownVoxelSize& image, const KnownVoxelSize& kernel,
                                 const Shape3& kernel_shape) {
    std::array<double, 3> of_kernel{1, 1, 1}, of_image{1, 1, 1};
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const std::optional<double>&from = kernel[a], &to = image[a];
        if (kernel_shape[axis] == 1 || !from || !to) continue;
        if (std::abs(*from - *to) <= 1e-3 * std::abs(*to)) continue;
        of_kernel[a] = *from;
        of_image[a] = *to;
    }
    return {{of_kernel[0], of_kernel[1], of_kernel[2]}, {of_image[0], of_image[1], of_image[2]}};
}

std::string voxel_difference(const KnownVoxelSize& image, const KnownVoxelSize& kernel,
                             const std::string& kernel_name) {
    return message("voxel sizes differ: the image has ", format_voxel_size(image), ", ",
                   kernel_name, ' ', format_voxel_size(kernel));
}

std::optional<Sentence> check_resampling(const Shape3& before, const Shape3& after,
                                         const std::string& difference,
                                         const std::string& more_cure) {
    constexpr index_t most = 100, many = 10;  // factors by which an extent may change
    constexpr index_t few = 3;                // samples across a kernel that is not a line
    const Sentence text =
        sentence(difference, ", and resampling would make z,y,x ", to_string(after),
                 " samples of the kernel's ", to_string(before), "; correct one of the sizes (",
                 OptionName{"voxel"}, " for the image)", more_cure);
    const bool wide = before.y >= few && before.x >= few;
    if (wide && after.y == 1 && after.x == 1) throw InvalidArgument(text);
    index_t growth = 0;
    for (int axis = 0; axis < 3; ++axis) growth = std::max(growth, after[axis] / before[axis]);
    if (growth > most) throw InvalidArgument(text);
    const bool shrunk = after.y <= few && after.x <= few && after.y * many <= before.y &&
                        after.x * many <= before.x;
    if (growth > many || shrunk) return text;
    return {};
}

}  // namespace convolume
