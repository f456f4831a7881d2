// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a block costs on the CPU: bytes exactly, seconds by a model of counted work.

#include "core/engine.hpp"

namespace convolume::cpu {

BlockCost estimate_cost(const Block& block, int threads, const MachineRates& rates);

/// Bytes of the workspace, which holds planes of spectra and each thread's scratch.
struct WorkspaceLayout {
    index_t spectrum_bytes;
    index_t scratch_bytes;  ///< of one thread
    index_t total_bytes;
};
WorkspaceLayout workspace_layout(const Block& block, int threads);

}  // namespace convolume::cpu
