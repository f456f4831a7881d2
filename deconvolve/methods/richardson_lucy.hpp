// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy: W. H. Richardson, J. Opt. Soc. Am. 62:55 (1972); L. B. Lucy, Astron. J.
// 79:745 (1974).
//     x = p / (Aᵀ1) · Aᵀ(y / (A p + b))
// The starting point p is the newest estimate, or extrapolated beyond it: D. S. C. Biggs and M.
// Andrews, Appl. Opt. 36:1766 (1997). The same iteration on one view after the other, each with its
// own weights, is that of ordered subsets (ViewUpdates::sequential).

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Steps from the newest estimate. Ends when an iteration lowers the objective by less than the
/// fraction DeconvolveOptions::stop.
class PlainState : public MethodState {
  public:
    explicit PlainState(const DeconvolutionProblem& problem) : stop_(problem.options.stop) {}

    StepStart start(int iteration) override {
        StepStart start;
        start.iteration = iteration;
        start.restart = std::exchange(restarts_, false);
        return start;
    }
    LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
        iteration.likelihood = -result.misfit();
        const double gain = objective_ - result.objective();
        const bool converged =
            stop_ && iteration.number > first_compared_ && gain < *stop_ * objective_;
        objective_ = result.objective();
        return converged ? LoopDecision::converged : LoopDecision::go_on;
    }
    bool needs_results() const override { return stop_.has_value(); }

    /// Lets iterations up to number `iteration` raise the objective.
    void compare_after(int iteration) { first_compared_ = iteration; }

  protected:
    double objective() const { return objective_; }  ///< objective at the last starting point
    void forget_previous() { restarts_ = true; }

  private:
    std::optional<double> stop_;
    double objective_ = 0;
    int first_compared_ = 1;
    bool restarts_ = true;
};

/// Steps from an extrapolated point, by eq. 10 of Biggs and Andrews. If such a point is less
/// probable than the one before, the step starts at the newest estimate instead.
class BiggsAndrewsState final : public PlainState {
  public:
    /// `mean`: mean of the voxels at the start.
    BiggsAndrewsState(const DeconvolutionProblem& problem, float mean)
        : PlainState(problem),
          voxels_(element_count(problem.object)),
          // The first changes are unknown: few voxels may get all the light.
          format_(ShortFormat::for_mean(voxels_, mean)) {}

    StepStart start(int iteration) override {
        StepStart start = PlainState::start(iteration);
        start.last_format = last_format_;
        start.format = format_;
        start.extrapolation = {factor_, 0};
        // A smaller increase of the misfit is a rounding error of float32 transforms.
        constexpr double rounding = 1e-6;
        if (factor_ > 0) start.objective_limit = objective() * (1 + rounding);
        return start;
    }
    void refused() override {
        factor_ = 0;
        forget_previous();
    }
    LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
        const auto [product, square] = result.products();
        // The next change is about as large as the last one that is known.
        last_format_ = format_;
        if (square > 0)
            format_ = ShortFormat(
                voxels_, static_cast<float>(std::sqrt(square / static_cast<double>(voxels_))));
        const double factor = square > 0 ? product / square : 0;
        factor_ = static_cast<float>(std::clamp(factor, 0.0, 1.0));
        return PlainState::decide_after(result, iteration);
    }
    bool needs_results() const override { return true; }

  private:
    index_t voxels_;
    ShortFormat last_format_, format_;
    float factor_ = 0;
};

inline bool is_accelerated(const DeconvolveOptions& options) {
    return options.acceleration == Acceleration::biggs_andrews;
}
/// Adds the arrays that acceleration needs.
inline MethodTraits accelerated(MethodTraits traits, const DeconvolveOptions& options) {
    traits.keeps_previous = traits.keeps_change = is_accelerated(options);
    return traits;
}
inline std::unique_ptr<MethodState> state_with_acceleration(const DeconvolutionProblem& problem,
                                                            float mean) {
    if (is_accelerated(problem.options)) return std::make_unique<BiggsAndrewsState>(problem, mean);
    return std::make_unique<PlainState>(problem);
}

struct RichardsonLucy {
    static constexpr bool fits_passes = true;
    static constexpr DeconvolveMethod method = DeconvolveMethod::richardson_lucy;
    static constexpr const char *name = "rl", *help = "Richardson-Lucy";
    static constexpr std::array<std::string_view, 2> aliases{"richardson-lucy", "lucy-richardson"};
    static constexpr std::array<std::string_view, 4> option_names{"acceleration", "start",
                                                                  "view_updates", "weights"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits;
        traits.starts_coarsely = true;
        return accelerated(traits, options);
    }
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage& image) {
        return state_with_acceleration(problem, mean_at_start(image));
    }
    template <class Operations>
    static void iterate(Operations& operations) {
        compare(operations, 0);
        operations.blur_back(ArrayRole::model, ArrayRole::correction);
        operations.update(richardson_lucy::MatchedRule{least_weight});
    }
    /// The first operations: makes the ratio of data and model, minus `less`.
    template <class Operations>
    static void compare(Operations& operations, float less) {
        operations.load_point();
        operations.blur(ArrayRole::point, ArrayRole::model);
        operations.compare(less);
    }
};

}  // namespace convolume::deconvolve
