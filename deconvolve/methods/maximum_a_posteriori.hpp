// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maximum a posteriori: the minimum of the misfit plus Good's roughness (roughness.hpp). Steps
// start from a point that is extrapolated as that of nnls, with the factors of Y. Nesterov:
//     p = xₖ + (tₖ₋₁ - 1) / tₖ (xₖ - xₖ₋₁),  tₖ₊₁ = (1 + √(1 + 4 tₖ²)) / 2
// but at least a tenth of xₖ. If the objective at p is larger than at the last point, the step
// starts at xₖ instead, and t again from 1: B. O'Donoghue and E. Candès, Found. Comput. Math.
// 15:715 (2015), section 3.2. The objective at the starting points therefore never rises.

#include <cmath>
#include <utility>

#include "deconvolve/methods/richardson_lucy.hpp"
#include "deconvolve/roughness.hpp"

namespace convolume::deconvolve {

struct MaximumAPosteriori {
    static constexpr DeconvolveMethod method = DeconvolveMethod::maximum_a_posteriori;
    static constexpr const char *name = "map", *help = "most probable, with a prior";
    static constexpr std::array<std::string_view, 1> aliases{"maximum-a-posteriori"};
    static constexpr std::array<std::string_view, 4> option_names{"acceleration", "start",
                                                                  "roughness", "weights"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits;
        traits.penalty = NeighborPenalty::roughness;
        traits.keeps_previous = is_accelerated(options);
        traits.stops_by_residual = true;
        traits.usual_iterations = numbers::most_converging;
        return traits;
    }

    class State final : public MethodState {
      public:
        explicit State(const DeconvolveOptions& options)
            : stop_(options.stop.value_or(numbers::converged_residual)),
              extrapolates_(is_accelerated(options)) {}
        StepStart start(int iteration) override {
            StepStart start;
            start.iteration = iteration;
            start.restart = std::exchange(restarts_, false);
            if (!extrapolates_ || start.restart) return start;
            const double next = (1 + std::sqrt(1 + 4 * t_ * t_)) / 2;
            start.extrapolation = {static_cast<float>((t_ - 1) / next), 0.1F};
            // A smaller increase of the objective is a rounding error of float32 transforms.
            constexpr double rounding = 1e-6;
            if (t_ > 1) start.objective_limit = objective_ * (1 + rounding);
            t_ = next;
            return start;
        }
        void refused() override {
            t_ = 1;
            restarts_ = true;
        }
        LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
            const auto [slopes, light] = result.sums[step_sums];
            iteration.likelihood = -result.misfit();
            iteration.residual = light > 0 ? slopes / light : 0;
            objective_ = result.objective();
            return iteration.residual <= stop_ ? LoopDecision::converged : LoopDecision::go_on;
        }
        bool needs_results() const override { return true; }

      private:
        double stop_;
        bool extrapolates_, restarts_ = true;
        double objective_ = 0;  ///< objective at the last starting point
        double t_ = 1;
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage&) {
        return std::make_unique<State>(problem.options);
    }

    template <class Operations>
    static void iterate(Operations& operations) {
        if constexpr (Operations::steps_overwrite_neighbors) {
            throw InternalError("map needs executors that keep whole arrays");
        } else {
            const Roughness& roughness = operations.settings().roughness;
            RichardsonLucy::compare(operations, 0);
            operations.sum_voxels_of_grid(extra_sums, {ArrayRole::point}, [&](const auto& at) {
                return RoughnessPenalty{at.object(ArrayRole::point), roughness};
            });
            operations.blur_back(ArrayRole::model, ArrayRole::correction);
            const auto roles = {ArrayRole::point, ArrayRole::correction, ArrayRole::weights};
            operations.sum_voxels_of_grid(step_sums, roles, [&](const auto& at) {
                return RoughnessResidual{at.object(ArrayRole::point),
                                         at.object(ArrayRole::correction), at.weights(),
                                         least_weight, roughness};
            });
            operations.step_of_grid(roles, [&](const auto& at) {
                return RoughnessStep{at.object(ArrayRole::point), at.object(ArrayRole::correction),
                                     at.weights(), least_weight, roughness};
            });
        }
    }
};

}  // namespace convolume::deconvolve
