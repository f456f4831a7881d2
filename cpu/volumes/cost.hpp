// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cost of a block on the CPU: bytes exactly, seconds by a model of counted work, whose rates are
// measured here too.

#include "core/engine.hpp"
#include "core/machine_rates.hpp"

namespace convolume::cpu {

BlockCost estimate_cost(const Block& block, int threads, const MachineRates& rates);

/// Bytes of the workspace, which holds planes of spectra and each thread's scratch.
struct WorkspaceLayout {
    index_t spectrum_bytes;
    index_t scratch_bytes;  ///< of one thread
    index_t total_bytes;
};
WorkspaceLayout workspace_layout(const Block& block, int threads);

/// Puts measured rates of transforms, direct sums and memory in place of those in `rates`, with
/// `threads` at work. Takes about two seconds.
void measure_rates(int threads, MachineRates& rates);

}  // namespace convolume::cpu
