// SPDX-License-Identifier: Apache-2.0
#pragma once
// Least squares with a penalty: (AᵀA + K) x = Aᵀ(y - b), by conjugate gradients. M. R. Hestenes and
// E. Stiefel, J. Res. Natl. Bur. Stand. 49:409 (1952).
//
// An iteration makes p = (AᵀA + K) d of the direction d, with the sums d·p, p², r·p and r², where r
// is the residual. These tell the length l = r² / d·p of the step and what will be left of the
// residual, |r - l p|² = r² - 2 l r·p + l² p², and with it the next direction. So one look at each
// array is enough, and the step itself can wait until the arrays are needed again.

#include <algorithm>
#include <cmath>

#include "deconvolve/images.hpp"
#include "deconvolve/methods/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// product <- product + factor direction; sums: direction · product, product².
struct Product {
    const float* direction;
    float* product;
    float factor;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        product[i] += factor * direction[i];
        const double p = product[i];
        return {static_cast<double>(direction[i]) * p, p * p};
    }
};

/// Sums: a · b, b².
struct DotAndSquare {
    const float* a;
    const float* b;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const double of_b = b[i];
        return {static_cast<double>(a[i]) * of_b, of_b * of_b};
    }
};

/// The step of an iteration: solution += length d; residual -= length p; d <- residual + factor d.
struct Advance {
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
    static constexpr std::array<std::string_view, 1> options{"noise_to_signal"};

    static MethodTraits traits(const DeconvolveOptions&) {
        MethodTraits traits;
        traits.counts_photons = false;
        traits.solves_system = true;
        return traits;
    }

    class State final : public MethodState {
      public:
        explicit State(const Problem& problem) : stop_(problem.options.stop.value_or(1e-3)) {}
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
        Verdict finished(const StepResult& result, Iteration& told) override {
            const auto [curvature, product_squared] = result.sums[of_pixels];
            const auto [residual_product, left] = result.sums[of_step];
            length_ = 0;
            factor_ = 0;
            if (told.number == 1) whole_ = left;
            if (!(curvature > 0)) return Verdict::discard;  // nothing but rounding is left
            const double length = left / curvature;
            const double next = std::max(
                left - 2 * length * residual_product + length * length * product_squared, 0.0);
            length_ = static_cast<float>(length);
            factor_ = static_cast<float>(next / left);
            told.residual = std::sqrt(next / whole_);
            return next == 0 || told.residual <= stop_ ? Verdict::converged : Verdict::go_on;
        }
        bool needs_results() const override { return true; }

      private:
        double stop_;
        double whole_ = 0;  ///< the residual at first, squared
        float length_ = 0, factor_ = 0;
    };
    static std::unique_ptr<MethodState> state(const Problem& problem, const LoadedImage&) {
        return std::make_unique<State>(problem);
    }

    /// Applies the step of the last iteration.
    template <class At>
    static Advance advance(const At& at, const StepStart& start) {
        return {at.object(Slot::solution),
                at.object(Slot::residual),
                at.object(Slot::direction),
                at.object(Slot::product),
                start.length,
                start.factor};
    }
    template <class Run>
    static void iterate(Run& run) {
        run.load_point();  // the direction
        run.blur(Slot::direction, Slot::model);
        run.blur_back(Slot::model, Slot::product);
        run.sum_voxels(of_pixels, {Slot::point, Slot::product}, [&](const auto& at) {
            return Product{at.object(Slot::point), at.object(Slot::product),
                           run.settings().noise_to_signal};
        });
        run.sum_voxels(of_step, {Slot::product, Slot::residual}, [](const auto& at) {
            return DotAndSquare{at.object(Slot::product), at.object(Slot::residual)};
        });
    }
};

}  // namespace convolume::deconvolve
