// SPDX-License-Identifier: Apache-2.0
#include "volumes/packed_box.hpp"

#include <algorithm>

namespace convolume {

PackedBox::PackedBox(const std::array<std::vector<index_t>, 3>& gathers)
    : axes_{pack(gathers[0]), pack(gathers[1]), pack(gathers[2])} {}

std::array<std::vector<index_t>, 3> PackedBox::gathers() const {
    return {axes_[0].gather, axes_[1].gather, axes_[2].gather};
}

PackedBox::Axis PackedBox::pack(const std::vector<index_t>& gather) {
    std::vector<index_t> used;
    for (const index_t i : gather)
        if (i >= 0) used.push_back(i);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());

    Axis axis;
    for (const index_t i : used) {
        if (axis.runs.empty() || axis.runs.back().end != i)
            axis.runs.push_back({i, i, axis.extent});
        ++axis.runs.back().end;
        ++axis.extent;
    }
    axis.gather.reserve(gather.size());
    for (const index_t i : gather) {
        if (i < 0) {
            axis.gather.push_back(-1);
            continue;
        }
        const auto place = std::lower_bound(used.begin(), used.end(), i) - used.begin();
        axis.gather.push_back(static_cast<index_t>(place));
    }
    return axis;
}

void PackedBox::read(const std::function<void(const Box3&, const ImageView&)>& read_box,
                     const ImageView& target) const {
    for (const Run& z : axes_[0].runs)
        for (const Run& y : axes_[1].runs)
            for (const Run& x : axes_[2].runs) {
                const Box3 from{{z.begin, y.begin, x.begin}, {z.end, y.end, x.end}};
                const Index3 at{z.at, y.at, x.at};
                const Shape3 shape = from.shape();
                read_box(from,
                         subview(target, {at, {at.z + shape.z, at.y + shape.y, at.x + shape.x}}));
            }
}

}  // namespace convolume
