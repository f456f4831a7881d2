// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the steps of a convolution over several devices overlap. Results do not depend on it.

#include <functional>

#include "convolume/shape.hpp"

struct CUstream_st;

namespace convolume::gpu {

struct SpreadTuning {
    /// Chunks of the frequencies along x. While the pass along z of one chunk waits for the link
    /// between devices, passes along y transform others. 1: steps follow each other.
    int chunks = 16;
    /// Shares of the thread blocks that passes along z, and those along y beside them, run at a
    /// time. With one chunk, only z_share counts.
    double z_share = 0.55, y_share = 0.45;
    /// A chunk of a device's planes has at least these bytes, so that small images have fewer.
    index_t least_chunk_bytes = index_t{128} << 20;
    /// Called with the first device's CUDA stream between the steps of an execution with one chunk:
    /// at its start, after the passes along x, y, z, y and x, and at its end.
    std::function<void(CUstream_st*)> on_step;
};

/// Returns the tuning of programs that are made later. Not for several threads.
SpreadTuning& spread_tuning();

}  // namespace convolume::gpu
