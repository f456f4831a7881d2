// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy with Aᵀ1 + w ∂TV(x) for Aᵀ1: edges stay, noise goes. N. Dey et al., Microsc.
// Res. Tech. 69:260 (2006).

#include "deconvolve/methods/richardson_lucy.hpp"
#include "deconvolve/methods/variation.hpp"

namespace convolume::deconvolve {

struct RichardsonLucyTv {
    static constexpr DeconvolveMethod method = DeconvolveMethod::richardson_lucy_tv;
    static constexpr std::array<std::string_view, 3> options{"acceleration", "start", "tv_weight"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits = RichardsonLucy::traits(options);
        traits.uses_neighbors = options.tv_weight > 0;
        return traits;
    }
    static std::unique_ptr<MethodState> state(const Problem& problem, const LoadedImage& image) {
        return RichardsonLucy::state(problem, image);
    }
    template <class Run>
    static void iterate(Run& run) {
        const StepSettings& settings = run.settings();
        if (settings.tv_weight == 0) {
            RichardsonLucy::iterate(run);
            return;
        }
        compare_photons(run);
        if constexpr (Run::steps_overwrite_neighbors) {
            // The slope needs the points before any of them is overwritten: it is kept as a
            // divisor.
            run.blur_back(Slot::model, Slot::correction);
            run.find_divisors();
            run.step({Slot::point, Slot::correction, Slot::divisors}, [](const auto& at) {
                return StepWith{at.object(Slot::point), at.object(Slot::correction),
                                Weights{at.object(Slot::divisors)}, 0.0F};
            });
        } else {
            const auto penalty = [&](const auto& at) {
                return Penalty{at.object(Slot::point), settings.variation,
                               static_cast<double>(settings.tv_weight)};
            };
            run.sum_voxels_of_grid(further, {Slot::point}, penalty);
            run.blur_back(Slot::model, Slot::correction);
            run.step_of_grid({Slot::point, Slot::correction, Slot::weights}, [&](const auto& at) {
                const Step plain{at.object(Slot::point), at.object(Slot::correction), at.weights(),
                                 least_weight};
                return SmoothStep{plain, settings.variation, settings.tv_weight};
            });
        }
    }
};

}  // namespace convolume::deconvolve
