// SPDX-License-Identifier: Apache-2.0
#pragma once
// The iteration of Richardson and Lucy for one sample, on the host and on a device: the formulas
// that loops over arrays and element passes share.

#include <cstdint>
#include <cstring>

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::deconvolve::richardson_lucy {

/// a / b to 2 ulp, b from 1e-37 to 1e37; on a device without the many instructions that the last
/// bit and other divisors take.
CONVOLUME_DEVICE float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
#else
    return a / b;
#endif
}

/// Pixels that are not to be compared, such as saturated ones, are marked by a value below 0.
inline constexpr float not_compared = -1;
CONVOLUME_DEVICE bool is_compared(float pixel) {
    return pixel >= 0;
}

/// What a pixel is expected to hold: the blurred estimate and the background. Below `floor` a model
/// is rounding.
struct PixelModel {
    float background;
    float floor;
    CONVOLUME_DEVICE float expected(float blurred) const {
        const float sum = blurred + background;
        return sum > floor ? sum : floor;
    }
};

/// Added up instead of misfits where these are not wanted: not finite if the model is not, and
/// otherwise too small to overflow.
CONVOLUME_DEVICE float trace_of(float blurred) {
    return 1e-10F * blurred;
}

/// m - y + y log(y / m) in float32, to some 1e-6 of it, y >= 0 and m > 0; `ratio` is y / m. Near
/// y = m, where the terms cancel, it is (y - m) s + 2 y (atanh s - s), s = (y - m) / (y + m): C.
/// Loader, Fast and Accurate Computation of Binomial Probabilities (2000). It has no branches, so
/// that loops of it become vectors.
CONVOLUME_DEVICE float misfit(float y, float m, float ratio) {
#ifdef __CUDA_ARCH__
    // Few instructions: the logarithm is one of them.
    const float s = quotient(y - m, y + m);
    const float s2 = s * s;
    const float rest = s2 * (1.0F / 3 + s2 * (0.2F + s2 * (1.0F / 7 + s2 * (1.0F / 9))));
    const float near = s * (y - m + 2 * y * rest);
    float log_2;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log_2) : "f"(ratio > 1e-30F ? ratio : 1e-30F));
    const float far = m - y + 0.693147181F * y * log_2;
    return s2 < 0.029F ? near : far;
#else
    constexpr std::uint32_t root_half = 0x3f3504f3;  // the bits of √½
    constexpr float log_2 = 0.693147181F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &ratio, sizeof bits);
    // ratio = fraction 2^exponent, fraction from √½ to √2. A ratio of 0 gets a finite logarithm.
    const std::int32_t exponent = static_cast<std::int32_t>(bits - root_half) >> 23;
    const std::uint32_t fraction_bits = bits - (static_cast<std::uint32_t>(exponent) << 23);
    float fraction = 0;
    std::memcpy(&fraction, &fraction_bits, sizeof fraction);
    const bool near = exponent == 0;
    const float s = quotient(near ? y - m : fraction - 1, near ? y + m : fraction + 1);
    const float s2 = s * s;
    const float rest = s * s2 * (1.0F / 3 + s2 * (0.2F + s2 * (1.0F / 7 + s2 * (1.0F / 9))));
    const float first =
        near ? (y - m) * s : m - y + y * (static_cast<float>(exponent) * log_2 + 2 * s);
    return first + y * (2 * rest);
#endif
}

/// What a step divides by: the weight, which is what a voxel's light sends into the image, and the
/// slope of a penalty. A strong penalty may make that negative: the step then is long, not
/// backwards.
CONVOLUME_DEVICE float divisor(float weight, float slope) {
    const float least = 0.1F * weight;
    return weight + slope > least ? weight + slope : least;
}

/// A step from `point`: times the correction, over the weight. Voxels of less than `least_weight`
/// cannot be told from the image: 0.
CONVOLUME_DEVICE float step(float point, float correction, float weight, float least_weight) {
    const float factor = correction > 0 ? correction : 0;
    return weight < least_weight ? 0 : quotient(point * factor, weight);
}
/// With a penalty of this slope.
CONVOLUME_DEVICE float step(float point, float correction, float weight, float least_weight,
                            float slope) {
    const float factor = correction > 0 ? correction : 0;
    return weight < least_weight ? 0 : quotient(point * factor, divisor(weight, slope));
}

/// A step with an unmatched back projector, whose correction is of the ratio less 1: at least a
/// tenth of the point.
CONVOLUME_DEVICE float unmatched_step(float point, float correction, float weight,
                                      float least_weight) {
    const float factor = correction > -0.9F ? 1 + correction : 0.1F;
    return weight < least_weight ? 0 : point * factor;
}

/// A point ahead of the newest estimate, along the way from the one before, but at least
/// `least_share` of it: what becomes 0 stays 0.
struct Extrapolation {
    float factor;
    float least_share;
    CONVOLUME_DEVICE float operator()(float newest, float before) const {
        const float ahead = newest + factor * (newest - before);
        const float least = least_share * newest;
        return ahead > least ? ahead : least;
    }
};

/// The functor of element passes (gpu/fft/element_job.hpp). Points are ahead of the newest
/// estimate; images are compared with models by their ratio; updates are steps of the iteration.
struct ElementFunctor {
    Extrapolation extrapolation{0, 0};
    // compare
    float held_share = 0;  ///< of the expected photons, those of the pixels that are held out
    PixelModel model{0, 0};
    float less = 0;      ///< is subtracted from ratios
    bool misfit = true;  ///< is added up; else trace_of() the blurred estimate
    // update, advance
    float least_weight = 1e-30F;  ///< above 0; voxels of less become 0
    bool unmatched = false;       ///< steps with an unmatched back projector

    CONVOLUME_DEVICE float point(float newest, float before) const {
        return extrapolation(newest, before);
    }

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

}  // namespace convolume::deconvolve::richardson_lucy
