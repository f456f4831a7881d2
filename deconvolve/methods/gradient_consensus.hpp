// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/methods/element_wise.hpp"
#include "deconvolve/photons.hpp"

// What gradient consensus does to every element: corrections of two halves of the photons, and
// steps only where they agree.
namespace convolume::deconvolve {

/// The data are divided into halves, drawn anew for every `seed`. Each is divided by half of the
/// model: the first in the model's place, the second in `other`. The sum is the misfit of the data.
template <class AnyRatio>
struct HalfRatios {
    AnyRatio ratio;
    float* other;
    float gain;
    float offset;
    std::uint32_t seed;
    PixelNumbers numbers{};  ///< of the arrays' pixels in the image
    CONVOLUME_DEVICE double operator()(index_t i) const { return divided(i, ratio.expected(i)); }
    CONVOLUME_DEVICE double divided(index_t i, float m) const {
        const float y = ratio.data[i];
        if (!richardson_lucy::is_compared(y)) {
            ratio.model[i] = other[i] = 0;
            return 0;
        }
        PixelBits bits(seed, Thinning::halves, numbers[i]);
        const float part = taken_value(y, 1, gain, offset, bits);
        ratio.model[i] = 2 * part / m;
        other[i] = 2 * (y - part) / m;
        return static_cast<double>(richardson_lucy::misfit(y, m, y / m));
    }
};

/// The same, and the squared difference of data that were set apart from `share` of the model.
template <class AnyRatio>
struct HalfRatiosHeldOut {
    HalfRatios<AnyRatio> halves;
    const float* held;  ///< null: none
    float share;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const float m = halves.ratio.expected(i);
        const double misfit = halves.divided(i, m);
        if (held == nullptr || !richardson_lucy::is_compared(held[i])) return {misfit, 0};
        const double away = static_cast<double>(held[i] - share * m);
        return {misfit, away * away};
    }
};

/// first <- the correction of all data; second <- (c1 - 1)(c2 - 1) of the halves' corrections.
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

/// The step where the halves agree; elsewhere the point stays.
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

/// How many voxels agree.
struct Consenting {
    const float* agreement;
    CONVOLUME_DEVICE double operator()(index_t i) const { return agreement[i] < 0 ? 0 : 1; }
};

}  // namespace convolume::deconvolve
