// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine must compute for one block, from the definition of the block alone.

#include "core/engine.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

/// The samples of a block before convolution: shape block.loaded().
Array gather_samples(const BlockInput& input);

/// The block's kernel: `taps` as they are, or part `part` of them.
Array part_kernel(const Block& block, const PartId& part, const ConstImageView& taps);

/// Circular convolution on block.grid() of samples at positions 0 … with taps at positions 0 …,
/// restricted to the kept positions.
Array circular_convolve(const Block& block, const Array& samples, const Array& taps);

}  // namespace convolume::testing
