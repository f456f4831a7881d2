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
    /// Of the kernel for each StageWork: shared memory without places of arrays, what those of an
    /// array take, and how many arrays have places.
    struct Shared {
        index_t least_bytes, array_bytes;
        int arrays;
        index_t bytes(int used) const {
            return least_bytes + (used < arrays ? used : arrays) * array_bytes;
        }
    };
    Shared shared[stage_works] = {};
};

/// The passes of one chunk of staged_lengths: length i is in chunk i mod Chunks. Each chunk is
/// compiled in a file of its own, made from stages.cu.in.
template <int Chunk, int Chunks>
std::vector<StagePass> compiled_stage_passes();

}  // namespace convolume::gpu
