// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "deconvolve/executors/executor.hpp"
#include "deconvolve/methods/gradient_consensus.hpp"
#include "deconvolve/methods/wiener.hpp"
#include "deconvolve/photons.hpp"

// Iterations of any method on whole arrays, which offer
//   object(i), image(i)            the arrays of either extent
//   blur(object, image)            A, and blur_back(image, object) its adjoint;
//                                  back_project_unmatched(image, object) the back projector of wb
//   for_each(extent, stage)        stage(i) for every i below a count, or stage(i, neighbors) for
//                                  every voxel of a Grid; sum(extent, stage) also adds the results
//                                  up, in an order of its own that is always the same
//   write(values, array, first, count), read(…)   between the host and an array
//   staging, threads()             host memory to transfer from, and the host's threads
namespace convolume::deconvolve {

template <class Arrays>
class ArraySteps final : public Steps {
  public:
    /// Both are kept by reference.
    ArraySteps(Arrays& arrays, const Problem& problem)
        : arrays_(arrays),
          problem_(problem),
          momentum_(momentum_of(problem.options)),
          unmatched_(unmatched_steps(problem)),
          tv_weight_(tv_weight_of(problem)) {
        if (problem.options.hold_out) held_ = arrays.image(2);
    }

    HostMemory staging() const override { return Arrays::staging; }
    int threads() const override { return arrays_.threads(); }

    void write_image(const float* values, index_t first, index_t count) override {
        arrays_.write(values, data_, first, count);
    }
    void write_estimate(const float* values, index_t first, index_t count) override {
        arrays_.write(values, estimate_, first, count);
    }
    void read_estimate(float* values, index_t first, index_t count) const override {
        arrays_.read(values, estimate_, first, count);
    }

    void hold_out(const PhotonScale& photons, int halvings) override {
        arrays_.for_each(pixels_,
                         SetApart{data_, held_, halvings, static_cast<float>(photons.gain),
                                  static_cast<float>(photons.offset), 1, Thinning::hold_out});
    }
    void put_back() override { arrays_.for_each(pixels_, AddScaled{data_, held_, 1}); }

    void begin(const LoadedImage& image, float held_share) override {
        model_rule_ = model_of(image);
        variation_ = variation_of(problem_, image.mean);
        gain_ = static_cast<float>(image.photons.gain);
        offset_ = static_cast<float>(image.photons.offset);
        held_share_ = held_share;

        model_ = arrays_.image(1);
        estimate_ = arrays_.object(0);
        correction_ = arrays_.object(1);
        weight_ = arrays_.object(2);
        arrays_.for_each(pixels_, Compared{data_, model_});
        arrays_.blur_back(model_, weight_);
        if (write_start(image))
            arrays_.for_each(voxels_, begin_stage(image, estimate_, {weight_}));
        else
            arrays_.for_each(voxels_, Fill{estimate_, start_of(image)});
        int next = 3;
        if (problem_.seeks_consensus()) {
            agreement_ = arrays_.object(next++);
            other_ = arrays_.image(problem_.options.hold_out ? 3 : 2);
        }
        if (momentum_ == Momentum::none) return;
        previous_ = arrays_.object(next++);
        if (momentum_ == Momentum::biggs_andrews) change_ = arrays_.object(next);
    }

    Taken take(const Origin& origin, const IterationProgress& progress) override {
        const float* const point = starting_point(origin);
        Taken taken = compare(point, origin);
        taken.refused = taken.objective() > origin.most;
        if (taken.refused) return taken;
        progress.at(0.5);
        if (origin.iteration <= unmatched_)
            unmatched_step(point);
        else
            step(point, taken);
        if (agreement_ != nullptr) taken.consenting = consenting();
        return taken;
    }

    Outcome solve_wiener(const LoadedImage& image, IterationProgress& progress) override {
        estimate_ = arrays_.object(0);
        return deconvolve::solve_wiener(arrays_, problem_, image, progress);
    }

  private:
    // The estimate, or a point ahead of it, which takes the place of the estimate before.
    const float* starting_point(const Origin& origin) {
        if (momentum_ == Momentum::none) return estimate_;
        if (origin.restart) {
            arrays_.for_each(voxels_, Copy{estimate_, previous_});
            if (change_ != nullptr) arrays_.for_each(voxels_, Fill{change_, 0});
        }
        arrays_.for_each(voxels_, Extrapolate{estimate_, previous_, origin.ahead});
        return previous_;
    }

    Taken compare(const float* point, const Origin& origin) {
        Taken taken;
        arrays_.blur(point, model_);
        const Ratio ratio{data_, model_, model_rule_};
        if (held_share_ > 0) {
            const SumPair misfits = arrays_.sum(pixels_, RatioHeldOut{ratio, held_, held_share_});
            taken.misfit = misfits.first;
            taken.held_out = misfits.second;
            // The model has become the ratio; halves need it once more.
            if (agreement_ != nullptr) arrays_.blur(point, model_);
        }
        if (agreement_ != nullptr) {
            const auto draw = static_cast<std::uint32_t>(origin.iteration);
            taken.misfit =
                arrays_.sum(pixels_, HalfRatios<Ratio>{ratio, other_, gain_, offset_, draw});
        } else if (held_share_ == 0) {
            taken.misfit = arrays_.sum(pixels_, ratio);
        }
        if (tv_weight_ > 0)
            taken.penalty = static_cast<double>(tv_weight_) *
                            arrays_.sum(Grid{variation_}, TotalVariation{point, variation_});
        return taken;
    }

    void unmatched_step(const float* point) {
        arrays_.for_each(pixels_, LessOne{data_, model_});
        arrays_.back_project_unmatched(model_, correction_);
        arrays_.for_each(voxels_, UnmatchedStep{point, correction_, weight_, least_weight});
        advance();
    }

    void step(const float* point, Taken& taken) {
        arrays_.blur_back(model_, correction_);
        const Step plain{point, correction_, weight_, least_weight};
        if (agreement_ != nullptr) {
            arrays_.blur_back(other_, agreement_);
            arrays_.for_each(
                voxels_, Agreement<const float*>{correction_, agreement_, weight_, least_weight});
            arrays_.blur(agreement_, model_);
            arrays_.blur_back(model_, agreement_);
            take_all(voxels_, ConsensusStep<Step>{plain, agreement_}, taken);
            return;
        }
        if (tv_weight_ > 0)
            take_all<Grid>(variation_, SmoothStep{plain, variation_, tv_weight_}, taken);
        else
            take_all(voxels_, plain, taken);
    }

    double consenting() const {
        return arrays_.sum(voxels_, Consenting{agreement_}) / static_cast<double>(voxels_);
    }

    // Of all voxels: a count, or the grid where steps look at neighbors.
    template <class Extent, class AnyStep>
    void take_all(const Extent& extent, const AnyStep& step, Taken& taken) {
        if (momentum_ == Momentum::biggs_andrews)
            taken.products = arrays_.sum(extent, StepWithProducts<AnyStep>{step, change_});
        else
            arrays_.for_each(extent, step);
        advance();
    }

    void advance() {
        // The step has made the next estimate of the correction. The point ahead is done with.
        if (momentum_ != Momentum::none) std::swap(previous_, correction_);
        std::swap(momentum_ == Momentum::none ? correction_ : previous_, estimate_);
    }

    Arrays& arrays_;
    const Problem& problem_;
    Momentum momentum_;
    int unmatched_;  ///< steps with the other back projector
    float tv_weight_;
    richardson_lucy::Model model_rule_{0, 0};
    Variation variation_;
    index_t voxels_ = element_count(problem_.object);
    index_t pixels_ = element_count(problem_.image);
    float* data_ = arrays_.image(0);
    float* model_ = nullptr;
    float* held_ = nullptr;
    float held_share_ = 0;
    float* estimate_ = arrays_.object(0);
    float* correction_ = nullptr;
    float* weight_ = nullptr;
    float* previous_ = nullptr;   ///< the estimate before, then the point ahead
    float* agreement_ = nullptr;  ///< of rlgc: below 0 where the halves disagree
    float* other_ = nullptr;      ///< of rlgc: ratios of the second half
    float* change_ = nullptr;     ///< of Biggs and Andrews: what the last step added to its point
    float gain_ = 1;              ///< photons of a value
    float offset_ = 0;
};

}  // namespace convolume::deconvolve
