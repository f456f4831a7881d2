// SPDX-License-Identifier: Apache-2.0
#pragma once
// A box of samples between those of a stack.

#include <array>
#include <vector>

#include "convolume/image_view.hpp"

namespace convolume::optics {

/// Values of `stack` (float32, contiguous) at z, y, x = center + whole offsets, `size` of them with
/// the middle one at `center`: a sinc of 16 samples under a Kaiser window along each axis, whose
/// weights sum to 1. Beyond the stack its outermost samples go on.
std::vector<double> shifted_box(const ConstImageView& stack, const std::array<double, 3>& center,
                                const Shape3& size);

}  // namespace convolume::optics
