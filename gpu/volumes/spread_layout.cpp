// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/spread_layout.hpp"

#include <algorithm>

namespace convolume::gpu {

SpreadLayout::SpreadLayout(index_t devices, index_t ring, index_t rows, index_t pitch,
                           index_t groups)
    : devices_(devices),
      ring_(ring),
      rows_(rows),
      pitch_(pitch),
      most_slots_(ceil_div(ring, devices)),
      group_(ceil_div(most_slots_, std::clamp<index_t>(groups, 1, most_slots_))),
      block_rows_(ceil_div(rows, devices)) {}

IndexRange SpreadLayout::slots(index_t device) const {
    return {ring_ * device / devices_, ring_ * (device + 1) / devices_};
}

IndexRange SpreadLayout::slots(index_t device, index_t group) const {
    const index_t begin = slots(device).begin + group * group_;
    return slots(device).within({begin, begin + group_});
}

ColumnShare SpreadLayout::share(index_t device) const {
    const index_t begin = std::min(device * block_rows_, rows_),
                  end = std::min(begin + block_rows_, rows_);
    return {begin * pitch_, (end - begin) * pitch_};
}

index_t SpreadLayout::origin(index_t device) const {
    return (device * planes() + group_ - slots(device).begin) * plane();
}

index_t SpreadLayout::own_rows(index_t device, index_t other) const {
    return origin(device) + other * block_rows_ * pitch_;
}

index_t SpreadLayout::guest_rows(index_t device, index_t other) const {
    return (other * planes() - slots(device).begin) * plane() + device * block_rows_ * pitch_;
}

SlotParts SpreadLayout::along_z(index_t device) const {
    SlotParts parts = evenly_divided(ring_, devices_);
    for (index_t from = 0; from < devices_; ++from)
        if (from != device)
            parts.offsets[from] = guest_rows(from, device) - own_rows(device, device);
    return parts;
}

}  // namespace convolume::gpu
