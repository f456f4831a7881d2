// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/richardson_lucy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"

namespace convolume::deconvolve {

namespace {

// A misfit that grew by less has not grown: float32 transforms are not more exact.
constexpr double rounding = 1e-6;

// Where steps start from.
class Extrapolation {
  public:
    /// Of objects of so many voxels; `start` is what they begin with.
    Extrapolation(Momentum momentum, index_t voxels, float start)
        : momentum_(momentum),
          voxels_(voxels),
          // Nothing is known of the first changes: few voxels may get all the light.
          format_(ShortFormat::of_mean(voxels, start)) {}

    /// `before`: the last objective.
    Origin origin(int iteration, double before) {
        if (momentum_ == Momentum::heavy_ball)  // Wang and Miller, eq. 10
            factor_ = static_cast<float>(iteration - 1) / static_cast<float>(iteration + 2);
        Origin origin;
        origin.iteration = iteration;
        origin.restart = restarts_;
        origin.last_format = last_format_;
        origin.format = format_;
        // Biggs and Andrews' point ahead is given up where it is worse; a heavy ball goes on.
        origin.ahead = {factor_, momentum_ == Momentum::heavy_ball ? 0.1F : 0};
        if (momentum_ == Momentum::biggs_andrews && factor_ > 0)
            origin.most = before * (1 + rounding);
        return origin;
    }
    /// The estimate before is forgotten.
    void restart() {
        factor_ = 0;
        restarts_ = true;
    }
    void took(const SumPair& products) {
        restarts_ = false;
        if (momentum_ != Momentum::biggs_andrews) return;
        // The next change is about as large as the last one that is known.
        last_format_ = format_;
        if (products.second > 0)
            format_ = ShortFormat(
                voxels_,
                static_cast<float>(std::sqrt(products.second / static_cast<double>(voxels_))));
        // Biggs and Andrews, eq. 10.
        const double factor = products.second > 0 ? products.first / products.second : 0;
        factor_ = static_cast<float>(std::clamp(factor, 0.0, 1.0));
    }

  private:
    Momentum momentum_;
    index_t voxels_;
    ShortFormat last_format_, format_;
    float factor_ = 0;
    bool restarts_ = true;
};

}  // namespace

Outcome iterate(Steps& steps, const Problem& problem, const LoadedImage& image, float held_share,
                IterationProgress& progress, int iterations) {
    const DeconvolveOptions& options = problem.options;
    const double pixels = static_cast<double>(element_count(problem.image));
    const int unmatched = unmatched_steps(problem);
    Outcome outcome;
    DeconvolveReport& report = outcome.report;
    Extrapolation extrapolation(momentum_of(options), element_count(problem.object),
                                start_of(image));
    double before = 0;
    int disputed = 0;  // steps in a row without consensus
    double least_held = std::numeric_limits<double>::infinity();
    // Whether what was found of the iteration k ends them.
    const auto ends = [&](int k, const Taken& taken) {
        if (!std::isfinite(taken.objective()))
            throw BadData("the estimate overflowed float32: scale the image to smaller numbers");
        report.iterations = k;
        report.last = {k, iterations,     -taken.misfit,
                       0, held_share > 0, std::sqrt(taken.held_out / pixels)};
        if (problem.seeks_consensus()) report.last.consenting = taken.consenting;
        progress.finished(report.last);
        if (held_share > 0) {
            if (taken.held_out < (1 - least_gain) * least_held) {
                least_held = taken.held_out;
                outcome.best = k - 1;
            }
            if (k - 1 - outcome.best >= patience) return true;
        }
        disputed = taken.consenting < options.consensus ? disputed + 1 : 0;
        if (problem.seeks_consensus() && disputed == long_dispute) return true;
        const double gain = before - taken.objective();
        if (options.stop && k > unmatched + 1 && gain < *options.stop * before) return true;
        before = taken.objective();
        return false;
    };

    const bool may_end = held_share > 0 || options.stop;
    const bool needs_misfit = may_end || progress.reports() || problem.seeks_consensus() ||
                              momentum_of(options) == Momentum::biggs_andrews;
    const auto origin_of = [&](int k) {
        Origin origin = extrapolation.origin(k, before);
        origin.without_misfit = !needs_misfit && k < iterations;
        return origin;
    };
    steps.begin(image, held_share);
    for (int k = 1; k <= iterations;) {
        const int together =
            std::min({iterations - k + 1, may_end ? 1 : steps.most_together(), progress.unread(k)});
        if (together > 1) {
            std::vector<Origin> origins;
            for (int i = 0; i < together; ++i) {
                origins.push_back(extrapolation.origin(k + i, before));
                extrapolation.took({});
            }
            for (const Taken& taken : steps.take_together(origins, progress)) ends(k++, taken);
            continue;
        }
        Taken taken = steps.take(origin_of(k), progress);
        if (taken.refused) {
            extrapolation.restart();
            ++report.restarts;
            taken = steps.take(origin_of(k), progress);
        }
        extrapolation.took(taken.products);
        if (ends(k++, taken)) break;
    }
    return outcome;
}

}  // namespace convolume::deconvolve
