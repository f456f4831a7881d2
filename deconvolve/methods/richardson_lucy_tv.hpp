// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy with a penalty on the total variation, which keeps edges and removes noise:
// Aᵀ1 + w √(Aᵀ1) ∂TV(x) replaces Aᵀ1. N. Dey et al., Microsc. Res. Tech. 69:260 (2006).
// Its acceleration is the heavy ball (scaled_heavy_ball.hpp). The slope of the total variation
// changes its sign in flat regions from step to step, so that consecutive changes hardly agree: the
// factor of Biggs and Andrews, which is their product, would be near 0.

#include "deconvolve/methods/scaled_heavy_ball.hpp"
#include "deconvolve/variation.hpp"

namespace convolume::deconvolve {

struct RichardsonLucyTv {
    static constexpr bool fits_passes = true;
    static constexpr DeconvolveMethod method = DeconvolveMethod::richardson_lucy_tv;
    static constexpr const char *name = "rl-tv", *help = "with total variation";
    static constexpr std::array<std::string_view, 2> aliases{"richardson-lucy-tv", "rltv"};
    static constexpr std::array<std::string_view, 4> option_names{"acceleration", "start",
                                                                  "tv_weight", "weights"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits = ScaledHeavyBall::traits(options);
        traits.keeps_previous = is_accelerated(options);
        if (options.tv_weight.value_or(1) > 0) traits.penalty = NeighborPenalty::variation;
        return traits;
    }
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage& image) {
        if (is_accelerated(problem.options)) return ScaledHeavyBall::state(problem, image);
        return std::make_unique<PlainState>(problem);
    }
    template <class Operations>
    static void iterate(Operations& operations) {
        const StepSettings& settings = operations.settings();
        if (settings.tv_weight == 0) {
            RichardsonLucy::iterate(operations);
            return;
        }
        RichardsonLucy::compare(operations, 0);
        if constexpr (Operations::steps_overwrite_neighbors) {
            // The slope needs the points before any of them is overwritten, so it is kept in the
            // divisors.
            operations.blur_back(ArrayRole::model, ArrayRole::correction);
            operations.find_divisors();
            operations.template update<ArrayRole::divisors>(
                richardson_lucy::MatchedRule{richardson_lucy::least_divisor});
        } else {
            const auto penalty = [&](const auto& at) {
                return VariationPenalty{at.object(ArrayRole::point), settings.variation,
                                        static_cast<double>(settings.tv_weight)};
            };
            operations.sum_voxels_of_grid(extra_sums, {ArrayRole::point}, penalty);
            operations.blur_back(ArrayRole::model, ArrayRole::correction);
            operations.step_of_grid(
                {ArrayRole::point, ArrayRole::correction, ArrayRole::weights}, [&](const auto& at) {
                    const RuleStep plain{at.object(ArrayRole::point),
                                         at.object(ArrayRole::correction), at.weights(),
                                         richardson_lucy::MatchedRule{least_weight}};
                    return PenalizedStep{plain, settings.variation, settings.tv_weight};
                });
        }
    }
};

}  // namespace convolume::deconvolve
