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

/// Returns the bytes of host memory that splits keep for a result of these extents: an estimate,
/// and sums.
index_t split_sums_bytes(const Shape3& result);
/// Returns the bytes of host memory that a half of an image takes while it is read.
index_t half_bytes(const DeconvolutionProblem& problem);
/// Returns the bytes of host memory that splits of one image take beside the deconvolution.
index_t uncertainty_bytes(const DeconvolutionProblem& problem);

/// Throws InvalidArgument if a sink cannot receive the uncertainty of this problem. Without a sink
/// (null), there is nothing to check.
void check_uncertainty(const DeconvolutionProblem& problem, const ImageSink* sink);

/// Restores halves of the photons of a recording: of one image, or of several views.
class HalfRestorer {
  public:
    virtual ~HalfRestorer() = default;
    /// Writes the estimate from one half of a split, counted from 0, to `result`.
    virtual void restore(int split, bool is_second, ImageSink& result, const DeconvolveRun& run,
                         const ExecutionContext& context) = 0;
};

/// Restores both halves of each of `splits` splits, beginning as `run` does, and writes the
/// standard deviation of each voxel to `run.uncertainty`.
void estimate_uncertainty(HalfRestorer& halves, int splits, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads);

/// Runner of a deconvolution of one image, its problem, whose options are changed meanwhile, and
/// its coarse start, which may be null.
struct SplitRunner {
    Runner& runner;
    DeconvolutionProblem& problem;
    CoarseStart* coarse_start;
};

/// Estimates the uncertainty of one image, which was deconvolved in `run` with the result `report`.
void estimate_uncertainty(const SplitRunner& runner, CallerImages& image,
                          const DeconvolveReport& report, const DeconvolveRun& run,
                          const ExecutionContext& context, int threads);

}  // namespace convolume::deconvolve
