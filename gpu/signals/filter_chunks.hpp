// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of a call's results into chunks that travel through a device together. Pure arithmetic.

#include <vector>

#include "core/filter_engine.hpp"

namespace convolume::gpu {

/// The results `range` of `signal_count` signals, from signal number `first_signal` on. They leave
/// `stored_count` stored samples, from number `stored_begin` on.
struct FilterChunk {
    index_t first_signal = 0, signal_count = 1;
    SampleRange range;
    index_t stored_begin = 0, stored_count = 0;
};

/// The chunks of a call, for each filter and signal. A chunk has about `outputs` results at most, a
/// multiple of `step` if windows allow. On the device, peaks are searched in windows of
/// `peak_window` results. This is window.length, or less if windows are divided: then each window
/// has several partial peaks.
struct FilterChunks {
    std::vector<FilterChunk> list;
    /// Stored samples of each filter and signal; partial peaks if `peak_window` is shorter than a
    /// window.
    index_t stored_per_signal = 0;
    index_t peaks_per_window = 1;  ///< partial peaks of each window
};
FilterChunks cut_into_chunks(WindowPost window, index_t peak_window, index_t signal_count,
                             const SampleRange& range, index_t outputs, index_t step);

}  // namespace convolume::gpu
