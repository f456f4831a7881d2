// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which transforms of lines take their columns.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Neighboring columns of a line that are transformed at once, one in each lane of a vector.
struct LineColumns {
    index_t first, count;
};

/// Returns the columns that follow the first `done` of `all` columns. The last ones may include
/// some that are done already.
constexpr LineColumns next_line_columns(index_t done, index_t all, index_t lanes) {
    const index_t left = all - done;
    if (left >= lanes) return {done, lanes};
    if (lanes >= 8 && 2 * left == lanes) return {done, left};
    return {all - lanes, lanes};
}

/// Returns which of neighboring complex samples a lane holds. In this order, samples move between
/// vectors and memory without shuffles across blocks of 16 bytes.
constexpr index_t column_in_lane(index_t lane, index_t lanes) {
    return lanes == 1 ? lane : lane % 2 * (lanes / 2) + lane / 2;
}

}  // namespace convolume::cpu
