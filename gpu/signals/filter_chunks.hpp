// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which results of a call travel together through a device: arithmetic only.

#include <vector>

#include "core/filter_engine.hpp"

namespace convolume::gpu {

/// Results `range` of the signals from `signal` on, of which `stored` samples are stored from
/// `stored_begin` on.
struct FilterChunk {
    index_t signal = 0, signals = 1;
    SampleRange range;
    index_t stored_begin = 0, stored = 0;
};

/// Divides what a call stores of each filter of each signal into chunks of about `outputs` results
/// at most, a multiple of `step` where windows allow. `pick` is the window that peaks are picked
/// from on the device: window.length, or less for windows that are picked from in parts, whose
/// partial peaks follow each other.
struct FilterChunks {
    std::vector<FilterChunk> list;
    index_t stored = 0;  ///< in all, of each filter: partial peaks where pick is shorter
    index_t parts = 1;   ///< partial peaks of each window
};
FilterChunks cut_into_chunks(WindowPost window, index_t pick, index_t signals,
                             const SampleRange& range, index_t outputs, index_t step);

}  // namespace convolume::gpu
