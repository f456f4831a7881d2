// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slots of columns that are divided into parts, which are in different places: each device may hold
// some. CUDA kernels get them with their arguments.

#include <cstddef>
#include <cstdint>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/error.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

struct SlotParts {
    static constexpr int most = 16;   ///< largest number of parts
    static constexpr int shift = 31;  ///< see part()

    std::uint32_t scale = 0, add = 0;
    std::uint32_t reciprocal = 0;  ///< 2^shift / divisor, rounded up; 0: there are no parts
    index_t offsets[most] = {};    ///< complex samples to add to the place of a part's slots

    /// Returns the part of a slot: (slot * scale + add) / divisor, rounded down.
    CONVOLUME_DEVICE int part(int slot) const {
        const std::uint32_t dividend = static_cast<std::uint32_t>(slot) * scale + add;
        return static_cast<int>(std::uint64_t{dividend} * reciprocal >> shift);
    }
    CONVOLUME_DEVICE index_t offset(int slot) const { return offsets[part(slot)]; }
};

/// Returns a division of at most `slots` slots by SlotParts::part(). All offsets are 0.
inline SlotParts divided_slots(index_t slots, index_t scale, index_t add, index_t divisor) {
    // The rounded reciprocal gives exact quotients while dividend * divisor < 2^shift.
    const index_t last = checked_add(checked_multiply(slots - 1, scale), add);
    if (slots < 1 || divisor < 1 || scale < 1 || add < 0 ||
        checked_multiply(last, divisor) >> SlotParts::shift != 0 ||
        last / divisor >= SlotParts::most)
        throw InternalError(message("parts of ", slots, " slots divided by ", divisor));
    return {static_cast<std::uint32_t>(scale),
            static_cast<std::uint32_t>(add),
            static_cast<std::uint32_t>(ceil_div(index_t{1} << SlotParts::shift, divisor)),
            {}};
}
/// Returns a division of which part i begins at slot slots * i / parts, rounded down.
inline SlotParts evenly_divided(index_t slots, index_t parts) {
    return divided_slots(slots, parts, parts - 1, slots);
}

}  // namespace convolume::gpu
