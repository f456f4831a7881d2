// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of twiddle factors of a segment's transform, computed on the host.

#include <vector>

#include "convolume/cuda/detail/segment_shape.hpp"
#include "gpu/fft/twiddles.hpp"

namespace convolume::gpu {

/// What first_twiddle() says, stage after stage.
template <class Real>
std::vector<Complex<Real>> segment_twiddles(const SegmentPlan& plan) {
    std::vector<Complex<Real>> table;
    for (int stage = 0; stage < plan.last(); ++stage)
        for (int i = 1; i < plan.radix[stage]; ++i)
            for (int p = 0; p < plan.width(stage); ++p)
                table.push_back(root_of_unity<Real>(1L * i * p, plan.length(stage)));
    return table;
}

}  // namespace convolume::gpu
