// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that convert samples of 16 bits.

#include "convolume/cuda/detail/stored_samples.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::pixels {

using gpu::SampleWord;

/// Converts `count` words to float32.
void decode(const SampleWord* from, index_t count, SampleStorage storage, float* to);

/// Rounds `count` values to words; those of int16 are multiplied by `factor` first. Returns how
/// many were clamped.
ClampCount encode(const float* from, index_t count, SampleStorage storage, float factor,
                  SampleWord* to);

}  // namespace convolume::pixels
