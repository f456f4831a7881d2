// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one axis of a block reads of its source.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The part of a source axis that a gather reads, and the gather within it.
struct AxisGather {
    index_t begin = 0, end = 0;  ///< source indices; empty where all is zero
    std::vector<std::int32_t> list;
    bool is_identity = true;

    explicit AxisGather(const std::vector<index_t>& indices) {
        begin = std::numeric_limits<index_t>::max();
        for (const index_t i : indices)
            if (i >= 0) {
                begin = std::min(begin, i);
                end = std::max(end, i + 1);
            }
        if (end == 0) begin = 0;
        if (end - begin > std::numeric_limits<std::int32_t>::max())
            throw InvalidArgument(
                message("a row of ", end - begin, " samples is too long for a GPU: use tiles"));
        list.reserve(indices.size());
        for (const index_t i : indices) {
            list.push_back(static_cast<std::int32_t>(i < 0 ? -1 : i - begin));
            is_identity = is_identity && i == begin + static_cast<index_t>(list.size()) - 1;
        }
    }
    index_t extent() const { return end - begin; }
};

/// Of rows and columns.
struct TaskGathers {
    AxisGather y, x;
};

}  // namespace convolume::gpu
