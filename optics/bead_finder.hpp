// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where beads are in a stack, and how bright it is elsewhere.

#include <vector>

#include "convolume/beads.hpp"

namespace convolume::optics {

struct FoundBeads {
    std::vector<Index3> alone;  ///< brightest first: those that can be used
    index_t found = 0, crowded = 0, saturated = 0, at_border = 0;
    double background = 0;
};

/// Local maxima of the smoothed stack that stand out of the noise. Throws Cancelled.
FoundBeads find_beads(const ConstImageView& stack, const BeadOptions& options,
                      const ExecutionContext& context);

}  // namespace convolume::optics
