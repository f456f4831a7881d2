// SPDX-License-Identifier: Apache-2.0
#pragma once
// The beads of a stack.

#include "convolume/beads.hpp"

namespace convolume::optics {

/// Finds local maxima of the smoothed stack that stand out of the noise. Returns the beads that can
/// be used, brightest first, the number of others, and the background. Throws Cancelled.
BeadPsf find_beads(const ConstImageView& stack, const BeadOptions& options,
                   const ExecutionContext& context);

}  // namespace convolume::optics
