// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a convolution over several devices is divided, and how its steps overlap.

#include <functional>
#include <optional>

#include "convolume/shape.hpp"

struct CUstream_st;

namespace convolume::gpu {

/// How the pass along z is divided among devices: each transforms its own planes together with
/// their neighbors (halos), or some of the columns of all planes.
enum class SpreadMethod { halos, columns };

struct SpreadTuning {
    /// The method of all programs. If not given, the one that is predicted to be faster.
    std::optional<SpreadMethod> method;

    /// If false, devices do as if none reached the memory of another.
    bool reaches_peers = true;

    /// Called with the first device's CUDA stream between the steps of an execution with one chunk:
    /// at its start, and after the passes along x, y, z, y and x. With halos: at its start, after
    /// the forward transforms of planes that others need, those of all others, the wait for halos,
    /// and the passes along z, y and x.
    std::function<void(CUstream_st*)> on_step;

    // With halos
    /// Chunks of the frequencies along x, in which halos are copied. If not given, 1 if the copies
    /// are hidden behind transforms, else 2: more gained nothing. Results do not depend on it.
    std::optional<int> halo_chunks;

    // With columns. Results do not depend on what follows.
    /// Chunks of the frequencies along x. While the pass along z of one chunk waits for the link
    /// between devices, passes along y transform others. 1: steps follow each other.
    int chunks = 16;
    /// Shares of the thread blocks that passes along z, and those along y beside them, run at a
    /// time. With one chunk, only z_share counts.
    double z_share = 0.55, y_share = 0.45;
    /// A chunk of a device's planes has at least these bytes, so that small images have fewer.
    index_t least_chunk_bytes = index_t{128} << 20;
};

/// Returns the tuning of programs that are made later. Not for several threads.
SpreadTuning& spread_tuning();

}  // namespace convolume::gpu
