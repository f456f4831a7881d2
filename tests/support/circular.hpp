// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result that an engine must compute for a block, from the definition of the block alone.

#include "core/engine.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

/// Returns the samples of a block before convolution: shape block.loaded().
Array gather_samples(const BlockInput& input);

/// Computes the circular convolution on block.grid() of samples and taps, both placed at 0, and
/// returns its kept positions.
Array circular_convolve(const Block& block, const Array& samples, const Array& taps);

}  // namespace convolume::testing
