// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports the progress of iterations to the caller, and stops when the caller asks for it.

#include <limits>
#include <utility>

#include "convolume/deconvolver.hpp"

namespace convolume::deconvolve {

class IterationProgress {
  public:
    using ReadEstimate = std::function<void(const ImageView& target)>;

    /// `read` stores the estimate in a view.
    IterationProgress(const ExecutionContext& context, const DeconvolveRun& run, int iterations,
                      ReadEstimate read = {})
        : context_(context), run_(run), iterations_(iterations), read_(std::move(read)) {}

    /// Iterations from now on are this share of the whole, and no more than `iterations`.
    void begin(double from, double to, int iterations) {
        from_ = from;
        to_ = to;
        iterations_ = iterations;
        done_ = 0;
    }

    /// So many iterations, from number `k` on, end before the caller wants to read an estimate.
    int unread(int k) const {
        const int every = run_.on_iteration ? run_.reads_every : 0;
        return every > 0 ? every - (k - 1) % every : std::numeric_limits<int>::max();
    }

    /// Whether the caller is told what was found.
    bool reports() const { return static_cast<bool>(run_.on_iteration); }

    /// Throws Cancelled when a stop was requested. The fraction is that of the iteration at hand,
    /// above 1 of those that are computed with it.
    void at(double fraction) const {
        throw_if_stopped(context_);
        if (context_.progress)
            context_.progress(from_ + (to_ - from_) * (done_ + fraction) / iterations_);
    }
    void finished(const Iteration& iteration) {
        done_ = iteration.number;
        if (run_.on_iteration) run_.on_iteration(iteration, read_);
        at(0);
    }

  private:
    const ExecutionContext& context_;
    const DeconvolveRun& run_;
    int iterations_;
    ReadEstimate read_;
    int done_ = 0;
    double from_ = 0;
    double to_ = 1;
};

}  // namespace convolume::deconvolve
