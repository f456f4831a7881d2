// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy: x <- p / (Aᵀ1) · Aᵀ(y / (A p + b)). W. H. Richardson, J. Opt. Soc. Am. 62:55
// (1972); L. B. Lucy, Astron. J. 79:745 (1974). The starting point p is the estimate, or lies ahead
// of it: D. S. C. Biggs and M. Andrews, Appl. Opt. 36:1766 (1997).

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "deconvolve/images.hpp"
#include "deconvolve/methods/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Steps from the estimate itself. Ends when an iteration lowers the objective by less than the
/// fraction DeconvolveOptions::stop.
class PlainState : public MethodState {
  public:
    explicit PlainState(const Problem& problem) : stop_(problem.options.stop) {}

    StepStart start(int iteration) override {
        StepStart start;
        start.iteration = iteration;
        start.restart = std::exchange(restarts_, false);
        return start;
    }
    Verdict finished(const StepResult& result, Iteration& told) override {
        told.likelihood = -result.misfit();
        const double gain = objective_ - result.objective();
        const bool converged = stop_ && told.number > first_compared_ && gain < *stop_ * objective_;
        objective_ = result.objective();
        return converged ? Verdict::converged : Verdict::go_on;
    }
    bool needs_results() const override { return stop_.has_value(); }

    /// Iterations up to this one need not lower the objective.
    void compare_after(int iteration) { first_compared_ = iteration; }

  protected:
    double objective() const { return objective_; }  ///< of the last step's point
    void forget_previous() { restarts_ = true; }

  private:
    std::optional<double> stop_;
    double objective_ = 0;
    int first_compared_ = 1;
    bool restarts_ = true;
};

/// Steps from a point ahead, by eq. 10 of Biggs and Andrews. A point that is less probable than the
/// one before is given up for the estimate itself.
class BiggsAndrewsState final : public PlainState {
  public:
    /// `mean`: of the voxels at the start.
    BiggsAndrewsState(const Problem& problem, float mean)
        : PlainState(problem),
          voxels_(element_count(problem.object)),
          // The first changes are unknown: few voxels may get all the light.
          format_(ShortFormat::for_mean(voxels_, mean)) {}

    StepStart start(int iteration) override {
        StepStart start = PlainState::start(iteration);
        start.last_format = last_format_;
        start.format = format_;
        start.ahead = {factor_, 0};
        // A misfit that grew by less has not grown: float32 transforms are not more exact.
        constexpr double rounding = 1e-6;
        if (factor_ > 0) start.most = objective() * (1 + rounding);
        return start;
    }
    void refused() override {
        factor_ = 0;
        forget_previous();
    }
    Verdict finished(const StepResult& result, Iteration& told) override {
        const auto [product, square] = result.products();
        // The next change is about as large as the last one that is known.
        last_format_ = format_;
        if (square > 0)
            format_ = ShortFormat(
                voxels_, static_cast<float>(std::sqrt(square / static_cast<double>(voxels_))));
        const double factor = square > 0 ? product / square : 0;
        factor_ = static_cast<float>(std::clamp(factor, 0.0, 1.0));
        return PlainState::finished(result, told);
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
/// The arrays of acceleration.
inline MethodTraits accelerated(MethodTraits traits, const DeconvolveOptions& options) {
    traits.keeps_previous = traits.keeps_change = is_accelerated(options);
    return traits;
}
inline std::unique_ptr<MethodState> state_with_acceleration(const Problem& problem, float mean) {
    if (is_accelerated(problem.options)) return std::make_unique<BiggsAndrewsState>(problem, mean);
    return std::make_unique<PlainState>(problem);
}

/// The ratio of data and model, and its misfit.
template <class Run>
void compare_photons(Run& run) {
    run.load_point();
    run.blur(Slot::point, Slot::model);
    const auto ratio = [&](const auto& at) {
        return RatioWith{at.data(), at.image(Slot::model), run.settings().model};
    };
    if (run.settings().held_share == 0)
        run.sum_pixels(of_pixels, {Slot::data, Slot::model}, ratio);
    else
        run.sum_pixels(of_pixels, {Slot::data, Slot::held, Slot::model}, [&](const auto& at) {
            return RatioHeldOutWith{ratio(at), at.held(), run.settings().held_share};
        });
}

struct RichardsonLucy {
    static constexpr DeconvolveMethod method = DeconvolveMethod::richardson_lucy;
    static constexpr std::array<std::string_view, 2> options{"acceleration", "start"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits;
        traits.fits_passes = true;
        traits.starts_coarsely = true;
        return accelerated(traits, options);
    }
    static std::unique_ptr<MethodState> state(const Problem& problem, const LoadedImage& image) {
        return state_with_acceleration(problem, mean_at_start(image));
    }
    template <class Run>
    static void iterate(Run& run) {
        compare_photons(run);
        run.blur_back(Slot::model, Slot::correction);
        run.step({Slot::point, Slot::correction, Slot::weights}, [](const auto& at) {
            return StepWith{at.object(Slot::point), at.object(Slot::correction), at.weights(),
                            least_weight};
        });
    }
};

}  // namespace convolume::deconvolve
