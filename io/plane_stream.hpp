// SPDX-License-Identifier: Apache-2.0
#pragma once
// A strided volume as contiguous planes, one after another.

#include <vector>

#include "io/strided.hpp"

namespace convolume::io {

/// Calls `use(z, address, bytes)` for every plane, copying only planes that are not contiguous.
template <class Use>
void for_each_plane(const ConstImageView& source, Use&& use) {
    const Shape3 plane{1, source.shape.y, source.shape.x};
    const index_t bytes = element_count(plane) * static_cast<index_t>(size_of(source.type));
    std::vector<char> buffer;
    for (index_t z = 0; z < source.shape.z; ++z) {
        const ConstImageView from = subview(source, {{z, 0, 0}, {z + 1, plane.y, plane.x}});
        if (is_contiguous(from)) {
            use(z, from.data, bytes);
            continue;
        }
        buffer.resize(static_cast<std::size_t>(bytes));
        copy_view(from, {buffer.data(), source.type, plane, contiguous_strides(plane)});
        use(z, static_cast<const void*>(buffer.data()), bytes);
    }
}

}  // namespace convolume::io
