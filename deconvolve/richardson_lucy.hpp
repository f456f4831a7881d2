// SPDX-License-Identifier: Apache-2.0
#pragma once
// Richardson and Lucy's iteration, with total variation and from points ahead of the estimate, on
// any set of arrays.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "deconvolve/consensus.hpp"
#include "deconvolve/iteration_progress.hpp"
#include "deconvolve/pixels.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"

namespace convolume::deconvolve {

/// Data that were set apart, and how much of the light of the rest they expect. Iterations look at
/// how well they are predicted, and end when that gets no better.
struct HeldOut {
    const float* data = nullptr;
    float share = 0;
};
/// So many iterations in a row without a better prediction are the end.
inline constexpr int patience = 4;
/// So many steps in a row without consensus are the end of rlgc: single draws disagree by chance.
inline constexpr int long_dispute = 5;

/// The estimate is one of the set's object arrays.
struct Outcome {
    const float* estimate = nullptr;
    int best = 0;  ///< with data set apart: after so many steps these were predicted best
    DeconvolveReport report;
};

/// Voxels outside the image that send less than this share of their light into it are left dark:
/// what float32 transforms leave of their correction is no information (Bertero and Boccacci cut
/// there, too).
inline constexpr float least_weight = 1e-2F;

inline Variation variation_of(const Problem& problem, double mean) {
    Variation variation;
    const VoxelSize& size = problem.options.voxel;
    const double least = std::min({size.z_um, size.y_um, size.x_um});
    for (int axis = 0; axis < 3; ++axis) {
        variation.extent[axis] = problem.object[axis];
        variation.per_step[axis] = static_cast<float>(least / size[axis]);
    }
    variation.smallest = static_cast<float>(std::max(1e-3 * mean, 1e-15));
    return variation;
}

template <class Arrays>
class RichardsonLucy {
  public:
    RichardsonLucy(Arrays& arrays, const Problem& problem, const LoadedImage& image,
                   const HeldOut& held = {})
        : arrays_(arrays),
          problem_(problem),
          held_(held),
          momentum_(momentum_of(problem.options)),
          unmatched_(problem.has_unmatched() ? problem.options.unmatched : 0),
          tv_weight_(problem.options.method == DeconvolveMethod::richardson_lucy_tv
                         ? static_cast<float>(problem.options.tv_weight)
                         : 0),
          rule_{static_cast<float>(image.background),
                static_cast<float>(std::max(1e-6 * image.mean, 1e-30))},
          variation_(variation_of(problem, image.mean)),
          gain_(static_cast<float>(image.photons.gain)),
          offset_(static_cast<float>(image.photons.offset)) {
        estimate_ = arrays.object(0);
        Weights weights;
        if constexpr (Arrays::has_passes) {
            weights = arrays.find_weights();
        } else {
            correction_ = arrays.object(1);
            weight_ = arrays.object(2);
            arrays.for_each(pixels_, Fill{model_, 1});
            arrays.blur_back(model_, weight_);
            weights.values = weight_;
        }
        const double start = std::max(image.mean - image.background, 1e-3 * image.mean);
        arrays.for_each(voxels_, Fill{estimate_, static_cast<float>(start)});
        if (image.load_start) {
            image.load_start(estimate_,
                             static_cast<float>(start / static_cast<double>(image.start_scale)));
            const auto least = static_cast<float>(1e-3 * start);
            arrays.for_each(voxels_,
                            Begin{estimate_, weights, least_weight, image.start_scale, least});
        }
        int next = 3;
        if (problem.seeks_consensus()) {
            agreement_ = arrays.object(next++);
            other_ = arrays.image(problem.options.hold_out ? 3 : 2);
        }
        if (momentum_ == Momentum::none) return;
        previous_ = arrays.object(next++);
        if (momentum_ == Momentum::biggs_andrews) change_ = arrays.object(next);
        restart();
    }

    Outcome run(IterationProgress& progress, int iterations) {
        Outcome outcome;
        DeconvolveReport& report = outcome.report;
        double before = 0;
        int disputed = 0;  // steps in a row without consensus
        double least_held = std::numeric_limits<double>::infinity();
        for (int k = 1; k <= iterations; ++k) {
            const float* const point = starting_point(k);
            draw_ = static_cast<std::uint32_t>(k);
            Fit fit = compare(point);
            if (momentum_ == Momentum::biggs_andrews && factor_ > 0 &&
                fit.objective() > before * (1 + rounding)) {
                restart();
                ++report.restarts;
                fit = compare(point);
            }
            if (!std::isfinite(fit.objective()))
                throw BadData(
                    "the estimate overflowed float32: scale the image to smaller numbers");
            progress.at(0.5);
            take_step(k, point);
            report.last = {k,
                           iterations,
                           -fit.misfit,
                           0,
                           held_.data != nullptr,
                           std::sqrt(fit.held_out / static_cast<double>(pixels_))};
            if (agreement_ != nullptr) report.last.consenting = consenting();
            report.iterations = k;
            progress.finished(report.last, estimate_);
            if (held_.data != nullptr) {
                if (fit.held_out < least_held) {
                    least_held = fit.held_out;
                    outcome.best = k - 1;
                }
                if (k - 1 - outcome.best >= patience) break;
            }
            disputed = agreement_ != nullptr && report.last.consenting < problem_.options.consensus
                           ? disputed + 1
                           : 0;
            if (disputed == long_dispute) break;
            const double gain = before - fit.objective();
            const std::optional<double>& stop = problem_.options.stop;
            if (stop && k > unmatched_ + 1 && gain < *stop * before) break;
            before = fit.objective();
        }
        outcome.estimate = estimate_;
        return outcome;
    }

  private:
    struct Fit {
        double misfit = 0;
        double penalty = 0;
        double held_out = 0;
        double objective() const { return misfit + penalty; }
    };
    /// A misfit that grew by less has not grown: float32 transforms are not more exact.
    static constexpr double rounding = 1e-6;

    /// Where the step is taken from: the estimate, or a point ahead of it. Passes find it as they
    /// go.
    const float* starting_point(int iteration) {
        if (momentum_ == Momentum::none) return estimate_;
        if (momentum_ == Momentum::heavy_ball)  // Wang and Miller, eq. 10
            factor_ = static_cast<float>(iteration - 1) / static_cast<float>(iteration + 2);
        if (Arrays::has_passes) return estimate_;
        arrays_.for_each(voxels_, Extrapolate{estimate_, previous_, ahead()});
        return previous_;
    }

    // Biggs and Andrews' point ahead is given up where it is worse; a heavy ball goes on.
    richardson_lucy::Ahead ahead() const {
        return {factor_, momentum_ == Momentum::heavy_ball ? 0.1F : 0};
    }

    Fit compare(const float* point) {
        if constexpr (Arrays::has_passes) {
            const SumPair sums = arrays_.compare({estimate_, previous_, restarted_, ahead()}, rule_,
                                                 held_.data, held_.share);
            return {sums.first, 0, sums.second};
        } else {
            return compare_arrays(point);
        }
    }

    Fit compare_arrays(const float* point) {
        Fit fit;
        arrays_.blur(point, model_);
        const Ratio ratio{data_, model_, rule_};
        if (held_.data != nullptr) {
            const SumPair misfits =
                arrays_.sum(pixels_, RatioHeldOut{ratio, held_.data, held_.share});
            fit.misfit = misfits.first;
            fit.held_out = misfits.second;
            // The model has become the ratio; halves need it once more.
            if (agreement_ != nullptr) arrays_.blur(point, model_);
        }
        if (agreement_ != nullptr) {
            fit.misfit = arrays_.sum(pixels_, HalfRatios{ratio, other_, gain_, offset_, draw_});
        } else if (held_.data == nullptr) {
            fit.misfit = arrays_.sum(pixels_, ratio);
        }
        if (tv_weight_ > 0)
            fit.penalty = static_cast<double>(tv_weight_) *
                          arrays_.sum(Grid{variation_}, TotalVariation{point, variation_});
        return fit;
    }

    // The estimate before is forgotten.
    void restart() {
        factor_ = 0;
        restarted_ = true;
        if (Arrays::has_passes) return;
        arrays_.for_each(voxels_, Copy{estimate_, previous_});
        if (change_ != nullptr) arrays_.for_each(voxels_, Fill{change_, 0});
    }

    void unmatched_step(const float* point) {
        arrays_.for_each(pixels_, Shift{model_, -1});
        arrays_.back_project_unmatched(model_, correction_);
        arrays_.for_each(voxels_, UnmatchedStep{point, correction_, weight_, least_weight});
        advance();
    }

    void take_step(int iteration, const float* point) {
        if constexpr (Arrays::has_passes) {
            extrapolate(
                arrays_.step({estimate_, previous_, restarted_, ahead()}, change_, least_weight));
            restarted_ = false;
            if (previous_ != nullptr) std::swap(previous_, estimate_);
        } else if (iteration <= unmatched_) {
            unmatched_step(point);
        } else {
            step(point);
        }
    }

    void step(const float* point) {
        arrays_.blur_back(model_, correction_);
        const Step plain{point, correction_, weight_, least_weight};
        if (agreement_ != nullptr) {
            arrays_.blur_back(other_, agreement_);
            arrays_.for_each(voxels_, Agreement{correction_, agreement_, weight_, least_weight});
            arrays_.blur(agreement_, model_);
            arrays_.blur_back(model_, agreement_);
            take(voxels_, ConsensusStep{plain, agreement_});
            return;
        }
        if (tv_weight_ > 0)
            take<Grid>(variation_, SmoothStep{plain, variation_, tv_weight_});
        else
            take(voxels_, plain);
    }

    double consenting() const {
        return arrays_.sum(voxels_, Consenting{agreement_}) / static_cast<double>(voxels_);
    }

    // Of all voxels: a count, or the grid where steps look at neighbors.
    template <class Extent, class AnyStep>
    void take(const Extent& extent, const AnyStep& step) {
        if (momentum_ == Momentum::biggs_andrews) {
            extrapolate(arrays_.sum(extent, StepWithProducts<AnyStep>{step, change_}));
        } else {
            arrays_.for_each(extent, step);
        }
        advance();
    }

    /// By the products of the last two changes: Biggs and Andrews, eq. 10.
    void extrapolate(const SumPair& products) {
        if (momentum_ != Momentum::biggs_andrews) return;
        const double factor = products.second > 0 ? products.first / products.second : 0;
        factor_ = static_cast<float>(std::clamp(factor, 0.0, 1.0));
    }

    void advance() {
        // The step has made the next estimate of the correction. The point ahead is done with.
        if (momentum_ != Momentum::none) std::swap(previous_, correction_);
        std::swap(momentum_ == Momentum::none ? correction_ : previous_, estimate_);
    }

    Arrays& arrays_;
    const Problem& problem_;
    HeldOut held_;
    Momentum momentum_;
    int unmatched_;  ///< steps with the other back projector
    float tv_weight_;
    richardson_lucy::Model rule_;
    Variation variation_;
    index_t voxels_ = element_count(problem_.object);
    index_t pixels_ = element_count(problem_.image);
    const float* data_ = arrays_.image(0);
    float* model_ = arrays_.image(1);
    float* estimate_ = nullptr;
    float* correction_ = nullptr;
    float* weight_ = nullptr;
    float* previous_ = nullptr;   ///< the estimate before, then (not of passes) the point ahead
    float* agreement_ = nullptr;  ///< of rlgc: below 0 where the halves disagree
    float* other_ = nullptr;      ///< of rlgc: ratios of the second half
    float gain_ = 1;              ///< photons of a value
    float offset_ = 0;
    std::uint32_t draw_ = 0;
    float* change_ = nullptr;  ///< of Biggs and Andrews: what the last step added to its point
    float factor_ = 0;         ///< of the extrapolation
    bool restarted_ = true;    ///< nothing is known of the estimate before
};

}  // namespace convolume::deconvolve
