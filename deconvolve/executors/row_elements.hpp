// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of element passes (gpu/fft/element_job.hpp) in an iteration of Richardson and
// Lucy.

#include "deconvolve/methods/richardson_lucy_elements.hpp"
#include "gpu/fft/element_job.hpp"

namespace convolume::deconvolve {

/// The functor of element passes. Points are ahead of the newest estimate; images are compared with
/// models by their ratio; updates are steps of the iteration.
struct RowElements {
    richardson_lucy::Ahead ahead{0, 0};
    // compare
    float held_share = 0;  ///< of the expected photons, those of the pixels that are held out
    richardson_lucy::Model model{0, 0};
    float less = 0;      ///< is subtracted from ratios
    bool misfit = true;  ///< is added up; else trace_of() the blurred estimate
    // update, advance
    float least_weight = 1e-30F;  ///< above 0; voxels of less become 0
    bool unmatched = false;       ///< steps with an unmatched back projector

    CONVOLUME_DEVICE float point(float newest, float before) const { return ahead(newest, before); }

    CONVOLUME_DEVICE bool is_compared(float recorded) const {
        return richardson_lucy::is_compared(recorded);
    }

    template <class Use>
    CONVOLUME_DEVICE void with_comparison(const Use& use) const {
        if (misfit)
            use([this](float recorded, float blurred, bool inside, float& sum) {
                return ratio<true>(recorded, blurred, inside, sum);
            });
        else
            use([this](float recorded, float blurred, bool inside, float& sum) {
                return ratio<false>(recorded, blurred, inside, sum);
            });
    }

    CONVOLUME_DEVICE float held_out_error(float held, float blurred) const {
        return held - held_share * model.expected(blurred);
    }

    template <class Use>
    CONVOLUME_DEVICE void with_update(const Use& use) const {
        if (unmatched)
            use([this](float point, float correction, float weight) {
                return richardson_lucy::unmatched_step(point, correction, weight, least_weight);
            });
        else
            use([this](float point, float correction, float weight) {
                return richardson_lucy::step(point, correction, weight, least_weight);
            });
    }

  private:
    // Without a branch, so that the work of many samples overlaps.
    template <bool SumsMisfit>
    CONVOLUME_DEVICE float ratio(float recorded, float blurred, bool inside, float& sum) const {
        const bool compared = inside && is_compared(recorded);
        const float m = model.expected(blurred);
        const float ratio = richardson_lucy::quotient(recorded, m);
        const float added = SumsMisfit ? richardson_lucy::misfit(recorded, m, ratio)
                                       : richardson_lucy::trace_of(blurred);
        sum += compared ? added : 0;
        return compared ? ratio - less : 0;
    }
};

using ElementKind = gpu::ElementKind;
using ElementWork = gpu::ElementWork<RowElements>;

}  // namespace convolume::deconvolve
