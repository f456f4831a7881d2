// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy whose first steps use another back projector B, which is nearly an inverse of
// A: M. Guo et al., Nat. Biotechnol. 38:1337 (2020).
//     x = p · max(1/10, 1 + B(y / (A p + b) - 1))
// Pixels outside the image have a quotient of 1.

#include "convolume/volume.hpp"
#include "deconvolve/methods/richardson_lucy.hpp"

namespace convolume::deconvolve {

/// Returns the taps of an unmatched back projector, of the PSF's extents and center and with a sum
/// of 1: a Wiener filter times a Butterworth filter of order 10. Its adjoint replaces that of the
/// PSF.
///     B = H / (|H|² + α) / √(1 + ε w¹⁰),  ε = 1 / (β² + α)² - 1,  w = Σₐ (fₐ dₐ)²
/// H is the discrete transform of the PSF (sum 1) about `center`, and f the frequency in cycles a
/// sample. d is the PSF's full width at half maximum along an axis through its peak, which counts
/// as the resolution limit. β is the mean over the axes of the largest |H| at that limit, so that B
/// is β there. Guo et al., Nat. Biotechnol. 38:1337 (2020). `psf` is float32 with a sum of 1, as
/// the result is; α is above 0.
Volume wiener_butterworth_taps(const Volume& psf, const Index3& center, double alpha, int threads);

struct WienerButterworth {
    static constexpr bool fits_passes = true;
    static constexpr DeconvolveMethod method = DeconvolveMethod::wiener_butterworth;
    static constexpr const char *name = "wb", *help = "with a Wiener-Butterworth back projector";
    static constexpr std::array<std::string_view, 1> aliases{"wiener-butterworth"};
    static constexpr std::array<std::string_view, 5> option_names{
        "acceleration", "start", "unmatched", "noise_to_signal", "weights"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits;
        traits.has_unmatched = options.unmatched > 0;
        traits.usual_iterations = options.unmatched;
        return accelerated(traits, options);
    }
    static Volume unmatched_taps(const Volume& psf, const Index3& center,
                                 const DeconvolveOptions& options, int threads) {
        return wiener_butterworth_taps(psf, center, options.noise_to_signal, threads);
    }

    /// Unmatched steps do not tell how to extrapolate, and the first step after them has no
    /// previous change.
    class State final : public MethodState {
      public:
        State(const DeconvolutionProblem& problem, float mean)
            : unmatched_(problem.options.unmatched),
              steps_(state_with_acceleration(problem, mean)) {
            static_cast<PlainState&>(*steps_).compare_after(unmatched_ + 1);
        }
        StepStart start(int iteration) override {
            StepStart start = steps_->start(iteration);
            start.unmatched = iteration <= unmatched_;
            if (unmatched_ > 0 && iteration <= unmatched_ + 1) start.restart = true;
            return start;
        }
        void refused() override { steps_->refused(); }
        LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
            return steps_->decide_after(result, iteration);
        }
        bool needs_results() const override { return steps_->needs_results(); }

      private:
        int unmatched_;
        std::unique_ptr<MethodState> steps_;
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage& image) {
        return std::make_unique<State>(problem, mean_at_start(image));
    }

    template <class Operations>
    static void iterate(Operations& operations) {
        if (!operations.start().unmatched) {
            RichardsonLucy::iterate(operations);
            return;
        }
        RichardsonLucy::compare(operations, 1);
        operations.back_project_unmatched(ArrayRole::model, ArrayRole::correction);
        operations.update(richardson_lucy::UnmatchedRule{least_weight});
    }
};

}  // namespace convolume::deconvolve
