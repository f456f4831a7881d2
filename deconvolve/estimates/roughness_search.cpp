// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/roughness_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "deconvolve/caller_images.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/loop.hpp"

namespace convolume::deconvolve {

namespace {

// Ends the iterations on a half, out of the callback.
struct RestorationEnded {};

/// Restores the halves with one weight after another.
class HalfRestorations {
  public:
    HalfRestorations(const RestoredLevel& level, const std::array<Volume, 2>& halves, int threads,
                     const DeconvolveRun& run, const ExecutionContext& context)
        : level_(level),
          halves_(halves),
          threads_(threads),
          run_(run),
          context_(context),
          iterations_(*level.problem.options.iterations) {}

    void restore(std::size_t half, double weight) {
        DeconvolveOptions& options = level_.problem.options;
        options.roughness = weight;
        options.stop = 0;
        options.iterations = iterations_;
        DeconvolveRun own;
        Volume& estimate = estimates_[half];
        own.start = run_.start;
        if (estimate.bytes() == 0)
            estimate = level_.make_estimate();
        else
            own.start = std::as_const(estimate).view();
        // Weights can be compared at ten times the residual of a result. The first iteration's
        // residual comes from the change of the weight: a tenth of it must be left.
        double enough = numbers::converged_residual / common::noticeable;
        own.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
            report(iteration);
            if (iteration.number == 1)
                enough = std::min(enough, common::noticeable * iteration.residual);
            if (iteration.residual > enough && iteration.number < iterations_) return;
            read(estimate.view());
            throw RestorationEnded();
        };
        try {
            execute(half, own);
        } catch (const RestorationEnded&) {
        }
    }
    /// Returns the misfit of the second half to the first one's estimate: an iteration tells that
    /// of the estimate that it starts from.
    double misfit() {
        double found = 0;
        level_.problem.options.iterations = 1;
        DeconvolveRun own;
        own.start = std::as_const(estimates_[0]).view();
        own.reads_every = 0;
        own.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
            found = -iteration.likelihood;
            report(iteration);
        };
        execute(1, own);
        return found;
    }
    /// Returns the sum of the squared differences of the estimates inside the image.
    double squared_distance() const {
        return level_.squared_distance(estimates_[0], estimates_[1], threads_);
    }
    int searched() const { return searched_; }

  private:
    void execute(std::size_t half, const DeconvolveRun& run) {
        HostImages images(halves_[half].view(), {}, {level_.start, nullptr});
        const double from = done_;
        done_ += (1 - done_) / 4;
        level_.runner.execute(level_.problem, images, progress_between(context_, from, done_), run);
    }
    void report(Iteration iteration) {
        ++searched_;
        iteration.searching = true;
        iteration.of = iterations_;
        if (run_.on_iteration) run_.on_iteration(iteration, {});
    }

    RestoredLevel level_;
    const std::array<Volume, 2>& halves_;
    int threads_;
    const DeconvolveRun& run_;
    const ExecutionContext& context_;
    int iterations_;
    std::array<Volume, 2> estimates_;
    double done_ = 0;
    int searched_ = 0;
};

/// Values of a function at whole numbers of steps, around its lowest one.
struct LowestStep {
    int best = 0;
    std::map<int, double> values;

    /// Goes up from 0, or else down, while values fall.
    template <class Function>
    static LowestStep find(const Function& function) {
        LowestStep found;
        const auto value_at = [&](int step) {
            const auto known = found.values.find(step);
            return known != found.values.end() ? known->second
                                               : found.values[step] = function(step);
        };
        for (const int direction : {1, -1})
            while (std::abs(found.best) < weights::most_steps &&
                   value_at(found.best + direction) < value_at(found.best))
                found.best += direction;
        return found;
    }
    /// Returns the minimum of the parabola through the lowest value and those beside it.
    double interpolated() const {
        const auto before = values.find(best - 1), after = values.find(best + 1);
        if (before == values.end() || after == values.end()) return best;
        const double slope = before->second - after->second;
        const double curvature = before->second - 2 * values.at(best) + after->second;
        return curvature > 0 ? best + std::clamp(slope / (2 * curvature), -0.5, 0.5) : best;
    }
};

}  // namespace

FoundRoughness find_roughness(const RestoredLevel& level, const std::array<Volume, 2>& halves,
                              double first, int threads, const DeconvolveRun& run,
                              const ExecutionContext& context) {
    HalfRestorations restorations(level, halves, threads, run, context);
    const auto weight_of = [&](double step) { return first * std::pow(weights::factor, -step); };
    const LowestStep predicted = LowestStep::find([&](int step) {
        restorations.restore(0, weight_of(step));
        return restorations.misfit();
    });
    const int reference = predicted.best + 1;
    if (predicted.best < 0) restorations.restore(0, weight_of(reference));
    const LowestStep nearest = LowestStep::find([&](int step) {
        restorations.restore(1, weight_of(step));
        return restorations.squared_distance();
    });
    return {weight_of(nearest.interpolated()), restorations.searched()};
}

}  // namespace convolume::deconvolve
