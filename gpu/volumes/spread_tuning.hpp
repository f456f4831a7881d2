// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the steps of a convolution over several devices overlap. Results do not depend on it.

#include <functional>

#include "convolume/shape.hpp"

struct CUstream_st;

namespace convolume::gpu {

struct SpreadTuning {
    /// Groups of a device's planes. While the rows of one group travel to other devices, passes
    /// transform others.
    index_t groups = 24;
    /// A group of a device's planes has at least these bytes, so that small images have fewer.
    index_t least_group_bytes = index_t{1} << 20;
    /// Called with the first device's CUDA stream at the start of an execution, after the forward
    /// passes along x and y, after the pass along z, after the inverse passes, and at the end.
    std::function<void(CUstream_st*)> on_step;
};

/// Returns the tuning of programs that are made later. Not for several threads.
SpreadTuning& spread_tuning();

}  // namespace convolume::gpu
