// SPDX-License-Identifier: Apache-2.0
#pragma once
// The standard deviation of a result, from repeated splits of the photons. A split moves each pixel
// y by a random deviation d, whose variance is that of the photon noise, to the halves y + d and
// y - d. If the deconvolution F is nearly linear over such distances, with the matrix J,
//     (F(y + d) - F(y - d)) / 2 = J d
// has the covariance that the noise gives the result.

#include "deconvolve/caller_images.hpp"
#include "deconvolve/placement.hpp"

namespace convolume::deconvolve {

/// Returns the bytes of host memory that splits take beside the deconvolution.
index_t uncertainty_bytes(const DeconvolutionProblem& problem);

/// Runner of a deconvolution, its problem, whose options are changed meanwhile, and its coarse
/// start, which may be null.
struct SplitRunner {
    Runner& runner;
    DeconvolutionProblem& problem;
    CoarseStart* coarse_start;
};

/// Deconvolves halves of the photons of `image`, which was deconvolved in `run` with the result
/// `report`, and writes the standard deviation of each voxel to `run.uncertainty`.
void estimate_uncertainty(const SplitRunner& runner, CallerImages& image,
                          const DeconvolveReport& report, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads);

}  // namespace convolume::deconvolve
