// SPDX-License-Identifier: Apache-2.0
#pragma once
// Going through a stack a few planes at a time, for subcommands that need no whole volume.

#include <algorithm>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Calls `use(planes, z_begin)` for consecutive groups of planes of channel c at time t.
template <class Use>
void for_each_plane_group(io::ImageReader& reader, index_t t, index_t c, Use&& use) {
    constexpr index_t plane_group_bytes = index_t{64} << 20;
    const io::ImageMetadata& metadata = reader.metadata();
    const Shape3 shape = metadata.shape;
    const index_t plane_bytes = checked_multiply(checked_multiply(shape.y, shape.x),
                                                 static_cast<index_t>(size_of(metadata.type)));
    const index_t together = std::clamp<index_t>(plane_group_bytes / plane_bytes, 1, shape.z);
    Volume group({together, shape.y, shape.x}, metadata.type);
    for (index_t z = 0; z < shape.z; z += together) {
        const index_t count = std::min(together, shape.z - z);
        const ImageView view = subview(group.view(), {{0, 0, 0}, {count, shape.y, shape.x}});
        reader.read_planes(t, c, z, view);
        use(ConstImageView(view), z);
    }
    reader.check_unchanged();
}

}  // namespace convolume::cli
