// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of a block on the CPU. Bytes are exact; seconds are counted work times the rates of the
// machine, which are measured here too.

#include "core/engine.hpp"
#include "core/machine_rates.hpp"

namespace convolume::cpu {

BlockCost estimate_cost(const Block& block, int threads, const MachineRates& rates);

/// Bytes of a workspace, which holds planes of spectra and the scratch memory of each thread.
struct WorkspaceLayout {
    index_t spectrum_bytes;
    index_t scratch_bytes;  ///< scratch memory of one thread
    index_t total_bytes;
};
WorkspaceLayout workspace_layout(const Block& block, int threads);

/// Measures the rates of transforms, direct sums and memory with `threads` at work, and puts them
/// into `rates`. Takes about two seconds.
void measure_rates(int threads, MachineRates& rates);

}  // namespace convolume::cpu
