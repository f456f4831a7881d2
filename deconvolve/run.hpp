// SPDX-License-Identifier: Apache-2.0
#pragma once
// One execution: the image goes in, iterations of the method are done, the estimate comes out.

#include "deconvolve/steps.hpp"

namespace convolume::deconvolve {

DeconvolveReport run(Steps& steps, const Problem& problem, const ConstImageView& image,
                     const ImageView& result, const ExecutionContext& context,
                     const DeconvolveRun& along);

}  // namespace convolume::deconvolve
