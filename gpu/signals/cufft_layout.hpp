// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters too long for segments in shared memory: segments are transformed by cuFFT.

#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

/// Transforms of n samples give `hop` results each, from position `skip` on. Filters are cut
/// into `partitions` of `hop` taps (one partition: up to n - hop + 1). The spectrum of output
/// segment k is the sum of those of signal segments k, k-1, … times partitions 0, 1, …
struct CufftLayout {
    index_t n = 0, hop = 0, skip = 0, partitions = 1;
    index_t batch = 1;  ///< output segments computed together
    double seconds = 0;
};

std::optional<CufftLayout> cufft_layout(const FilterWork& work, index_t signals, index_t outputs,
                                        const FilterRates& rates);

/// Complex numbers of a transformed segment.
inline index_t segment_bins(const FilterWork& work, index_t n) {
    return work.complex_data ? n : n / 2 + 1;
}

}  // namespace convolume::gpu
