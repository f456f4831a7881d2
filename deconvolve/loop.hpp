// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop of a deconvolution: loads the image, carries out iterations, and stores the estimate.

#include "deconvolve/caller_images.hpp"

namespace convolume::deconvolve {

/// Loads the image, iterates until the method, held-out photons or the number of iterations end the
/// loop, and stores the estimate. The context's timeline gets the work as that of `engine`.
DeconvolveReport run(Executor& executor, const DeconvolutionProblem& problem, CallerImages& images,
                     const ExecutionContext& context, const DeconvolveRun& run_options,
                     int engine = 0);

/// Sets what was found in the pixels of an image.
void report_levels(const LoadedImage& loaded, DeconvolveReport& report);

/// Returns a context of a part of the work, which advances the progress from `from` to `to`. It has
/// the stop token, but no timeline. `context` must outlive it.
ExecutionContext progress_between(const ExecutionContext& context, double from, double to);

/// Results of the iterations, apart from the estimate itself.
struct IterationOutcome {
    int best = 0;  ///< number of steps that predicted the held-out photons best
    DeconvolveReport report;
};

/// Carries out at most `iterations` iterations from the first estimate on. Executor::begin explains
/// `held_out_share`.
IterationOutcome iterate(Executor& executor, const DeconvolutionProblem& problem,
                         const LoadedImage& image, float held_out_share,
                         IterationProgress& progress, int iterations);

}  // namespace convolume::deconvolve
