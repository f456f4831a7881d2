// SPDX-License-Identifier: Apache-2.0
#pragma once
// Going through a stack a few planes at a time, for subcommands that need no whole volume.

#include <algorithm>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Calls `use(slab, z_begin)` for consecutive groups of planes of channel c at time t.
template <class Use>
void for_each_slab(io::ImageReader& reader, index_t t, index_t c, Use&& use) {
    constexpr index_t slab_bytes = index_t{64} << 20;
    const io::ImageMetadata& metadata = reader.metadata();
    const Shape3 shape = metadata.shape;
    const index_t plane_bytes = checked_multiply(checked_multiply(shape.y, shape.x),
                                                 static_cast<index_t>(size_of(metadata.type)));
    const index_t planes = std::clamp<index_t>(slab_bytes / plane_bytes, 1, shape.z);
    Volume slab({planes, shape.y, shape.x}, metadata.type);
    for (index_t z = 0; z < shape.z; z += planes) {
        const index_t count = std::min(planes, shape.z - z);
        const ImageView view = subview(slab.view(), {{0, 0, 0}, {count, shape.y, shape.x}});
        reader.read_planes(t, c, z, view);
        use(ConstImageView(view), z);
    }
}

}  // namespace convolume::cli
