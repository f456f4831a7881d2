// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the results of some work are cut into segments and given to thread blocks, and how long that
// takes.

#include <optional>

#include "convolume/cuda/detail/segment_kernels.hpp"
#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

struct SegmentLayout {
    const SegmentKernel* kernel = nullptr;
    int skip = 0, useful = 0;  ///< see SegmentJob
    int filters_per_block = 1;
    index_t segments_per_signal = 0;
    index_t blocks = 0;
    double seconds = 0;  ///< predicted
};

/// The kernels that can do the work, by rising segment length; none where a caller's function comes
/// without its own.
const std::vector<SegmentKernel>& segment_kernels(const FilterWork& work);

/// The layout with segments of `kernel`; nothing when they hold too few results.
std::optional<SegmentLayout> segment_layout(const FilterWork& work, const SegmentKernel& kernel,
                                            index_t signals, index_t outputs,
                                            const FilterRates& rates);
/// The fastest one of all kernels, or of those of length work.segment.
std::optional<SegmentLayout> segment_layout(const FilterWork& work, index_t signals,
                                            index_t outputs, const FilterRates& rates);

}  // namespace convolume::gpu
