// SPDX-License-Identifier: Apache-2.0
#pragma once
// Non-negative least squares: min ½ |A x + b - y|² over x >= 0, by accelerated projected gradients,
// for bright images whose noise is additive. A. Beck and M. Teboulle, SIAM J. Imaging Sci. 2:183
// (2009), eq. 4.1 to 4.3:
//     xₖ₊₁ = max(0, pₖ - Aᵀ(A pₖ + b - y) / w),  pₖ = xₖ + (tₖ₋₁ - 1) / tₖ (xₖ - xₖ₋₁),
//     tₖ₊₁ = (1 + √(1 + 4 tₖ²)) / 2
// Points pₖ below 0 are raised to 0. The weights w = Aᵀ1 replace a step length for all voxels: A is
// not negative and A1 is at most 1, so diag(w) - AᵀA is positive semidefinite (A. R. De Pierro,
// IEEE Trans. Med. Imaging 14:132 (1995)). After an increase of the objective, t starts again from
// 1: B. O'Donoghue and E. Candès, Found. Comput. Math. 15:715 (2015), section 3.2.

#include <cmath>

#include "deconvolve/methods/richardson_lucy.hpp"

namespace convolume::deconvolve {

/// Replaces the model by its difference to the data. Sums half the square of the difference, and
/// the square of the data less the background.
///     model = model + background - data
template <class Data>
struct ModelDifference {
    Data data;
    float* model;
    float background;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const float recorded = data[i] - background;
        const float difference = model[i] - recorded;
        model[i] = difference;
        const double r = difference, y = recorded;
        return {0.5 * r * r, y * y};
    }
};
template <class Data>
ModelDifference(Data, float*, float) -> ModelDifference<Data>;

/// A projected gradient step, whose result is the change that it adds to the point:
///     gradient = max(0, point - gradient / weight)
template <class AnyWeights>
struct ProjectedStep {
    const float* point;
    float* gradient;
    AnyWeights weight;
    CONVOLUME_DEVICE float operator()(index_t i) const {
        const float w = weight[i];
        const float moved = point[i] - gradient[i] / (w < least_weight ? 1 : w);
        const float next = w < least_weight || !(moved > 0) ? 0 : moved;
        gradient[i] = next;
        return next - point[i];
    }
};
template <class AnyWeights>
ProjectedStep(const float*, float*, AnyWeights) -> ProjectedStep<AnyWeights>;

struct NonNegativeLeastSquares {
    static constexpr DeconvolveMethod method = DeconvolveMethod::non_negative_least_squares;
    static constexpr const char *name = "nnls", *help = "non-negative least squares";
    static constexpr std::array<std::string_view, 1> aliases{"non-negative-least-squares"};
    static constexpr std::array<std::string_view, 1> option_names{"start"};

    static MethodTraits traits(const DeconvolveOptions&) {
        MethodTraits traits;
        traits.counts_photons = false;
        traits.keeps_previous = true;
        return traits;
    }

    class State final : public MethodState {
      public:
        explicit State(const DeconvolutionProblem& problem) : stop_(problem.options.stop) {}
        StepStart start(int iteration) override {
            StepStart start;
            start.iteration = iteration;
            start.restart = iteration == 1;
            const double next = (1 + std::sqrt(1 + 4 * t_ * t_)) / 2;
            start.extrapolation = {iteration == 1 ? 0 : static_cast<float>((t_ - 1) / next), 0};
            if (iteration > 1) t_ = next;
            return start;
        }
        LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
            const auto [misfit, recorded] = result.sums[pixel_sums];
            iteration.residual = recorded > 0 ? std::sqrt(2 * misfit / recorded) : 0;
            const double gain = misfit_ - misfit;
            const bool converged =
                stop_ && iteration.number > 1 && gain >= 0 && gain < *stop_ * misfit_;
            if (iteration.number > 1 && gain < 0) t_ = 1;
            misfit_ = misfit;
            return converged ? LoopDecision::converged : LoopDecision::go_on;
        }
        bool needs_results() const override { return true; }

      private:
        std::optional<double> stop_;
        double misfit_ = 0;  ///< misfit at the last starting point
        double t_ = 1;
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage&) {
        return std::make_unique<State>(problem);
    }

    template <class Operations>
    static void iterate(Operations& operations) {
        operations.load_point();
        operations.blur(ArrayRole::point, ArrayRole::model);
        operations.sum_pixels(pixel_sums, {ArrayRole::data, ArrayRole::model}, [&](const auto& at) {
            return ModelDifference{at.data(), at.image(ArrayRole::model),
                                   operations.settings().model.background};
        });
        operations.blur_back(ArrayRole::model, ArrayRole::correction);
        operations.step({ArrayRole::point, ArrayRole::correction, ArrayRole::weights},
                        [](const auto& at) {
                            return ProjectedStep{at.object(ArrayRole::point),
                                                 at.object(ArrayRole::correction), at.weights()};
                        });
    }
};

}  // namespace convolume::deconvolve
