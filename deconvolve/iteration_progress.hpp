// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports the progress of iterations to the caller, and stops when the caller asks for it.

#include <utility>

#include "convolume/deconvolver.hpp"

namespace convolume::deconvolve {

class IterationProgress {
  public:
    using ReadArray = std::function<void(const float* estimate, const ImageView& target)>;

    /// `read` stores an estimate of the loop's arrays in a view.
    IterationProgress(const ExecutionContext& context, const DeconvolveRun& run, int iterations,
                      ReadArray read = {})
        : context_(context), run_(run), iterations_(iterations), read_(std::move(read)) {}

    /// Iterations from now on are this share of the whole, and no more than `iterations`.
    void begin(double from, double to, int iterations) {
        from_ = from;
        to_ = to;
        iterations_ = iterations;
        done_ = 0;
    }

    /// Throws Cancelled when a stop was requested. The fraction is that of the iteration at hand.
    void at(double fraction) const {
        throw_if_stopped(context_);
        if (context_.progress)
            context_.progress(from_ + (to_ - from_) * (done_ + fraction) / iterations_);
    }
    void finished(const Iteration& iteration, const float* estimate) {
        done_ = iteration.number;
        if (run_.on_iteration)
            run_.on_iteration(iteration, [&](const ImageView& target) { read_(estimate, target); });
        at(0);
    }

  private:
    const ExecutionContext& context_;
    const DeconvolveRun& run_;
    int iterations_;
    ReadArray read_;
    int done_ = 0;
    double from_ = 0;
    double to_ = 1;
};

}  // namespace convolume::deconvolve
