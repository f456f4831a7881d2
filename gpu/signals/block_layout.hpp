// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters too long for segments in shared memory: blocks of the signal, transformed by cuFFT.

#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

/// Transforms of n samples give `hop` results each, from position `skip` on. Filters are cut into
/// `parts` of `hop` taps (one part: up to n - hop + 1); the spectrum of output block k sums those
/// of signal blocks k, k-1, … times parts 0, 1, …
struct BlockLayout {
    index_t n = 0, hop = 0, skip = 0, parts = 1;
    index_t batch = 1;  ///< output blocks computed together
    double seconds = 0;
};

std::optional<BlockLayout> block_layout(const FilterWork& work, index_t signals, index_t outputs,
                                        const FilterRates& rates);

/// Complex numbers of a transformed block.
inline index_t block_bins(const FilterWork& work, index_t n) {
    return work.complex_data ? n : n / 2 + 1;
}

}  // namespace convolume::gpu
