// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson-Lucy gradient consensus: J. Manton and A. York, doi 10.5281/zenodo.10278919 (2023).
// Each iteration divides the photons at random into two halves, each with a correction cᵢ of its
// own. Only voxels where the halves agree nearby take the step:
//     AᵀA((c₁ - 1) (c₂ - 1)) >= 0

#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/methods/richardson_lucy.hpp"

namespace convolume::deconvolve {

/// Divides the data at random into halves, by random numbers of their own for every `seed`, and
/// divides each half by half of the model. The first ratio replaces the model, the second is stored
/// in `other`. The sum is the misfit of all data.
template <class Data>
struct HalfRatios {
    Data data;
    float* model;
    float* other;
    richardson_lucy::PixelModel rule;
    float gain;
    std::uint32_t seed;
    PixelNumbers numbers{};  ///< numbers of the arrays' pixels in the image
    CONVOLUME_DEVICE float expected(index_t i) const { return rule.expected(model[i]); }
    CONVOLUME_DEVICE double compared(index_t i, float m) const {
        const float y = data[i];
        if (!richardson_lucy::is_compared(y)) {
            model[i] = other[i] = 0;
            return 0;
        }
        PixelRandomBits bits(seed, ThinningPurpose::halves, numbers[i]);
        const float part = drawn_value(y, 1, gain, rule.offset, bits);
        const float counts = rule.counts(y, m);
        const float drawn = part - 0.5F * rule.offset;  // the halves share the offset
        const float of_first = drawn < 0 ? 0 : drawn > counts ? counts : drawn;
        model[i] = 2 * of_first / m;
        other[i] = 2 * (counts - of_first) / m;
        return static_cast<double>(richardson_lucy::misfit(counts, m, counts / m));
    }
};
template <class Data>
HalfRatios(Data, float*, float*, richardson_lucy::PixelModel, float, std::uint32_t, PixelNumbers)
    -> HalfRatios<Data>;

/// Makes the correction of all data, and the agreement of the halves' corrections c₁ and c₂:
///     first = (c₁ + c₂) / 2,  second = (c₁ / weight - 1) (c₂ / weight - 1)
template <class AnyWeights>
struct Agreement {
    float* first;
    float* second;
    AnyWeights weight;
    float least_weight;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        const float a = first[i];
        const float b = second[i];
        const float w = weight[i];
        first[i] = 0.5F * (a + b);
        second[i] = w < least_weight ? 0 : (a / w - 1) * (b / w - 1);
    }
};
template <class AnyWeights>
Agreement(float*, float*, AnyWeights, float) -> Agreement<AnyWeights>;

/// A step of the voxels where the halves agree. All other voxels keep their point.
template <class AnyStep>
struct ConsensusStep {
    AnyStep step;
    const float* agreement;
    CONVOLUME_DEVICE float operator()(index_t i) const {
        if (!(agreement[i] < 0)) return step(i);
        step.correction[i] = step.point[i];
        return 0;
    }
};
template <class AnyStep>
ConsensusStep(AnyStep, const float*) -> ConsensusStep<AnyStep>;

/// Counts, in the second sum, the voxels where the halves agree. Where the image says nothing of a
/// voxel, the agreement is rounding; such voxels count as agreed.
template <class AnyWeights>
struct ConsentCount {
    const float* agreement;
    AnyWeights weight;
    float least_weight;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const bool disagrees = agreement[i] < 0 && !(weight[i] < least_weight);
        return {0, disagrees ? 0.0 : 1.0};
    }
};
template <class AnyWeights>
ConsentCount(const float*, AnyWeights, float) -> ConsentCount<AnyWeights>;

struct GradientConsensus {
    static constexpr DeconvolveMethod method = DeconvolveMethod::gradient_consensus;
    static constexpr const char *name = "rlgc", *help = "gradient consensus";
    static constexpr std::array<std::string_view, 1> aliases{"gradient-consensus"};
    static constexpr std::array<std::string_view, 3> option_names{"acceleration", "start",
                                                                  "consensus"};

    static MethodTraits traits(const DeconvolveOptions& options) {
        MethodTraits traits;
        traits.draws_halves = true;
        traits.projections = 2;
        return accelerated(traits, options);
    }

    /// Ends after five consecutive steps in which the share of voxels that agreed was below
    /// DeconvolveOptions::consensus.
    class State final : public MethodState {
      public:
        State(const DeconvolutionProblem& problem, float mean)
            : consensus_(problem.options.consensus),
              voxels_(static_cast<double>(element_count(problem.object))),
              steps_(state_with_acceleration(problem, mean)) {}
        StepStart start(int iteration) override { return steps_->start(iteration); }
        void refused() override { steps_->refused(); }
        LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
            constexpr int long_dispute = 5;
            const LoopDecision decision = steps_->decide_after(result, iteration);
            iteration.consenting = result.sums[extra_sums].second / voxels_;
            disputed_ = iteration.consenting < consensus_ ? disputed_ + 1 : 0;
            return disputed_ == long_dispute ? LoopDecision::converged : decision;
        }
        bool needs_results() const override { return true; }

      private:
        double consensus_, voxels_;
        std::unique_ptr<MethodState> steps_;
        int disputed_ = 0;
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage& image) {
        return std::make_unique<State>(problem, mean_at_start(image));
    }

    template <class Operations>
    static void iterate(Operations& operations) {
        const StepSettings& settings = operations.settings();
        operations.load_point();
        operations.blur(ArrayRole::point, ArrayRole::model);
        operations.sum_pixels(
            pixel_sums,
            {ArrayRole::data, ArrayRole::held_out, ArrayRole::model, ArrayRole::other_image},
            [&](const auto& at) {
                const HalfRatios halves{at.data(),
                                        at.image(ArrayRole::model),
                                        at.image(ArrayRole::other_image),
                                        settings.model,
                                        static_cast<float>(settings.photons.gain),
                                        static_cast<std::uint32_t>(operations.start().iteration),
                                        at.pixel_numbers()};
                return RatioWithHeldOut{halves, at.held_out(), settings.held_out_share};
            });
        operations.blur_back(ArrayRole::model, ArrayRole::correction);
        operations.blur_back(ArrayRole::other_image, ArrayRole::other_object);
        operations.each_voxel({ArrayRole::correction, ArrayRole::other_object, ArrayRole::weights},
                              [](const auto& at) {
                                  return Agreement{at.object(ArrayRole::correction),
                                                   at.object(ArrayRole::other_object), at.weights(),
                                                   least_weight};
                              });
        operations.blur(ArrayRole::other_object, ArrayRole::model);
        operations.blur_back(ArrayRole::model, ArrayRole::other_object);
        operations.step(
            {ArrayRole::point, ArrayRole::correction, ArrayRole::other_object, ArrayRole::weights},
            [](const auto& at) {
                const RuleStep step{at.object(ArrayRole::point), at.object(ArrayRole::correction),
                                    at.weights(), richardson_lucy::MatchedRule{least_weight}};
                return ConsensusStep{step, at.object(ArrayRole::other_object)};
            });
        operations.sum_voxels(
            extra_sums, {ArrayRole::other_object, ArrayRole::weights}, [](const auto& at) {
                return ConsentCount{at.object(ArrayRole::other_object), at.weights(), least_weight};
            });
    }
};

}  // namespace convolume::deconvolve
