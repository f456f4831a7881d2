// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scaled heavy ball: Richardson and Lucy from an extrapolated point, but at least a tenth of
// xₖ. H. Wang and P. C. Miller, IEEE Trans. Image Process. 23:848 (2014), eq. 7 and 10:
//     p = xₖ + αₖ (xₖ - xₖ₋₁),  αₖ = (k - 1) / (k + 2)

#include "deconvolve/methods/richardson_lucy.hpp"

namespace convolume::deconvolve {

struct ScaledHeavyBall {
    static constexpr bool fits_passes = true;
    static constexpr DeconvolveMethod method = DeconvolveMethod::scaled_heavy_ball;
    static constexpr const char *name = "shb", *help = "as a scaled heavy ball";
    static constexpr std::array<std::string_view, 1> aliases{"scaled-heavy-ball"};
    static constexpr std::array<std::string_view, 2> option_names{"start", "weights"};

    static MethodTraits traits(const DeconvolveOptions&) {
        MethodTraits traits;
        traits.starts_coarsely = true;
        traits.keeps_previous = true;
        return traits;
    }

    class State final : public PlainState {
      public:
        using PlainState::PlainState;
        StepStart start(int iteration) override {
            StepStart start = PlainState::start(iteration);
            const auto factor =
                static_cast<float>(iteration - 1) / static_cast<float>(iteration + 2);
            start.extrapolation = {factor, 0.1F};
            return start;
        }
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage&) {
        return std::make_unique<State>(problem);
    }

    template <class Operations>
    static void iterate(Operations& operations) {
        RichardsonLucy::iterate(operations);
    }
};

}  // namespace convolume::deconvolve
