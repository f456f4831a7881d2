// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled passes with a stage of every length that has them.

#include <vector>

#include "gpu/fft/lengths.hpp"
#include "gpu/fft/stage_kernel.hpp"

namespace convolume::gpu {

struct StagePass {
    int n = 0;
    void (*kernels[stage_works])(StageJob) = {};  ///< of each StageWork
    Plan plan;
    int threads = 0;  ///< of a block
    int rows = 0;     ///< of a block
    /// Shared memory of the kernel for each StageWork, for so many arrays.
    index_t shared_bytes[stage_works][most_stage_arrays + 1] = {};
};

/// The passes of one chunk of staged_lengths: length i is in chunk i mod Chunks. Each chunk is
/// compiled in a file of its own, made from stages.cu.in.
template <int Chunk, int Chunks>
std::vector<StagePass> compiled_stage_passes();

}  // namespace convolume::gpu
