// SPDX-License-Identifier: Apache-2.0
#pragma once
// Least squares with a penalty, by conjugate gradients: M. R. Hestenes and E. Stiefel, J. Res.
// Natl. Bur. Stand. 49:409 (1952).
//     (AᵀA + K) x = Aᵀ(y - b)
// An iteration multiplies the direction d by the matrix, and sums d·p, p², r·p and r², where r is
// the residual. The sums tell the length l of the step and the square of the next residual, and
// with it the next direction:
//     p = (AᵀA + K) d,  l = r² / d·p,  |r - l p|² = r² - 2 l r·p + l² p²
// So each array is read once, and the step itself can wait until the arrays are needed again.

#include <algorithm>
#include <cmath>

#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Adds the penalty's part to a product with the matrix. Sums direction · product, and product².
///     product = product + factor * direction
struct RegularizedProduct {
    const float* direction;
    float* product;
    float factor;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        product[i] += factor * direction[i];
        const double p = product[i];
        return {static_cast<double>(direction[i]) * p, p * p};
    }
};

/// Sums a · b, and b².
struct DotAndSquare {
    const float* a;
    const float* b;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const double of_b = b[i];
        return {static_cast<double>(a[i]) * of_b, of_b * of_b};
    }
};

/// The step of an iteration:
///     solution += length d,  residual -= length p,  d = residual + factor d
struct ConjugateStep {
    float* solution;
    float* residual;
    float* direction;
    const float* product;
    float length, factor;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        const float d = direction[i];
        const float r = residual[i] - length * product[i];
        solution[i] += length * d;
        residual[i] = r;
        direction[i] = r + factor * d;
    }
};

struct Wiener {
    static constexpr DeconvolveMethod method = DeconvolveMethod::wiener;
    static constexpr const char *name = "wiener", *help = "least squares";
    static constexpr std::array<std::string_view, 0> aliases{};
    static constexpr std::array<std::string_view, 1> option_names{"noise_to_signal"};

    static MethodTraits traits(const DeconvolveOptions&) {
        MethodTraits traits;
        traits.counts_photons = false;
        traits.solves_system = true;
        traits.stops_by_residual = true;
        return traits;
    }

    class State final : public MethodState {
      public:
        explicit State(const DeconvolutionProblem& problem)
            : stop_(problem.options.stop.value_or(1e-3)) {}
        StepStart start(int iteration) override {
            StepStart start = pending();
            start.iteration = iteration;
            return start;
        }
        StepStart pending() const override {
            StepStart start;
            start.length = length_;
            start.factor = factor_;
            return start;
        }
        LoopDecision decide_after(const StepResult& result, Iteration& iteration) override {
            const auto [curvature, product_squared] = result.sums[pixel_sums];
            const auto [residual_product, left] = result.sums[step_sums];
            length_ = 0;
            factor_ = 0;
            if (iteration.number == 1) first_squared_residual_ = left;
            if (!(curvature > 0)) return LoopDecision::discard;  // only rounding errors are left
            const double length = left / curvature;
            const double next = std::max(
                left - 2 * length * residual_product + length * length * product_squared, 0.0);
            length_ = static_cast<float>(length);
            factor_ = static_cast<float>(next / left);
            iteration.residual = std::sqrt(next / first_squared_residual_);
            return next == 0 || iteration.residual <= stop_ ? LoopDecision::converged
                                                            : LoopDecision::go_on;
        }
        bool needs_results() const override { return true; }

      private:
        double stop_;
        double first_squared_residual_ = 0;  ///< square of the first residual
        float length_ = 0, factor_ = 0;
    };
    static std::unique_ptr<MethodState> state(const DeconvolutionProblem& problem,
                                              const LoadedImage&) {
        return std::make_unique<State>(problem);
    }

    /// Returns the functor that applies the step of the last iteration.
    template <class Views>
    static ConjugateStep advance(const Views& at, const StepStart& start) {
        return {at.object(ArrayRole::solution),
                at.object(ArrayRole::residual),
                at.object(ArrayRole::direction),
                at.object(ArrayRole::product),
                start.length,
                start.factor};
    }
    template <class Operations>
    static void iterate(Operations& operations) {
        operations.load_point();  // loads the direction
        operations.blur(ArrayRole::direction, ArrayRole::model);
        operations.blur_back(ArrayRole::model, ArrayRole::product);
        operations.sum_voxels(pixel_sums, {ArrayRole::point, ArrayRole::product},
                              [&](const auto& at) {
                                  return RegularizedProduct{at.object(ArrayRole::point),
                                                            at.object(ArrayRole::product),
                                                            operations.settings().noise_to_signal};
                              });
        operations.sum_voxels(
            step_sums, {ArrayRole::product, ArrayRole::residual}, [](const auto& at) {
                return DotAndSquare{at.object(ArrayRole::product), at.object(ArrayRole::residual)};
            });
    }
};

}  // namespace convolume::deconvolve
