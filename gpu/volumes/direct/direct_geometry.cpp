// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/direct/taps.hpp"

namespace convolume::gpu {

Block widened(const Block& block) {
    Block wide = block;
    for (BlockAxis& axis : wide.axes) {
        axis.loaded = axis.grid = axis.kept + axis.kernel - 1;
        axis.kept_begin = axis.kernel - 1;
    }
    return wide;
}

BlockInput widened(const Block& block, const BlockInput& input) {
    BlockInput wide = input;
    for (std::size_t a = 0; a < 3; ++a) {
        const BlockAxis& axis = block.axes[a];
        const std::vector<index_t>& gather = input.gather[a];
        std::vector<index_t>& indices = wide.gather[a];
        indices.assign(static_cast<std::size_t>(axis.kept + axis.kernel - 1), -1);
        const index_t first = axis.kept_begin - (axis.kernel - 1);
        const index_t end = std::min(first + static_cast<index_t>(indices.size()),
                                     static_cast<index_t>(gather.size()));
        for (index_t i = std::max<index_t>(first, 0); i < end; ++i)
            indices[static_cast<std::size_t>(i - first)] = gather[static_cast<std::size_t>(i)];
    }
    return wide;
}

void describe_direct(const Block& block, BlockGeometry& geometry) {
    with_sample(block, [&](auto sample) {
        using T = decltype(sample);
        const TapLayout taps = tap_layout<T>(block.kernel());
        geometry.sample_bytes = static_cast<index_t>(sizeof(T));
        geometry.rows =
            round_up(block.axes[1].kept, index_t{DirectTile::thread_rows}) + taps.reach_y();
        const index_t packs = packs_of<T>(block.axes[2].kept) + taps.template reach_packs<T>();
        geometry.pitch = geometry.half_x = packs * pack_size<T>;
        if (!taps.template are_constant<T>())
            geometry.kernel_bytes =
                round_up(taps.template packs<T>() * pack_bytes, DeviceMemory::alignment);
    });
    geometry.plane = checked_multiply(geometry.rows, geometry.pitch);
    geometry.kernel_planes = block.axes[0].kernel;
    const Block wide = widened(block);
    geometry.lists_bytes =
        round_up(4 * (wide.axes[1].loaded + wide.axes[2].loaded), DeviceMemory::alignment) +
        DeviceMemory::alignment;
}

double direct_seconds(const Block& block, double multiply_adds) {
    return with_sample(block, [&](auto sample) {
        using T = decltype(sample);
        const TapLayout taps = tap_layout<T>(block.kernel());
        const auto warps =
            static_cast<double>(packs_of<T>(block.axes[2].kept)) / DirectTile::lanes *
            static_cast<double>(ceil_div(block.axes[1].kept, index_t{DirectTile::thread_rows})) *
            static_cast<double>(block.axes[0].kept * block.axes[0].kernel);
        constexpr double products_a_cycle = 128;
        return warps * tap_plane_cycles<T>(taps) / (multiply_adds / products_a_cycle);
    });
}

}  // namespace convolume::gpu
