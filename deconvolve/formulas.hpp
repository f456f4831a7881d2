// SPDX-License-Identifier: Apache-2.0
#pragma once
// The iteration of Richardson and Lucy for one sample, on the host and on a device: the formulas
// that loops over arrays and element passes share.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::deconvolve::richardson_lucy {

/// Returns a / b to 2 ulp for b from 1e-37 to 1e37. A device avoids the many instructions for the
/// last bit and for other divisors.
CONVOLUME_DEVICE float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
#else
    return a / b;
#endif
}

struct FastQuotient {
    CONVOLUME_DEVICE float operator()(float a, float b) const { return quotient(a, b); }
};
struct ExactQuotient {
    CONVOLUME_DEVICE float operator()(float a, float b) const { return a / b; }
};

/// Mark of pixels that are left out of comparisons: any value from -3 to 0. Putting back held-out
/// photons adds marks.
inline constexpr float not_compared = -1;
/// Returns the mark of a saturated pixel. The pixel is a lower bound: it had at least this value.
CONVOLUME_DEVICE float saturated_mark(float value) {
    return -4 - value;
}
CONVOLUME_DEVICE bool is_saturated(float pixel) {
    return pixel < -3;
}
/// Whether a pixel is neither left out nor saturated.
CONVOLUME_DEVICE bool is_measured(float pixel) {
    return pixel >= 0;
}
CONVOLUME_DEVICE bool is_compared(float pixel) {
    return is_measured(pixel) || is_saturated(pixel);
}

/// Returns a number to add up instead of a misfit that is not needed. It is finite if the model is
/// finite, and too small for sums to overflow.
CONVOLUME_DEVICE float finiteness_probe(float blurred) {
    return 1e-10F * blurred;
}

/// Returns m - y + y log(y / m) in float32, to a relative 1e-6, for y >= 0 and m > 0; `ratio` is y
/// / m. Near y = m, where the terms cancel, it is computed as
///     (y - m) s + 2 y (atanh s - s),  s = (y - m) / (y + m)
/// after C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000). It has no
/// branches, so that compilers make vectors of loops.
CONVOLUME_DEVICE float misfit(float y, float m, float ratio) {
#ifdef __CUDA_ARCH__
    // This form needs few instructions, since a GPU has one for the logarithm.
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
    // ratio = fraction 2^exponent, with a fraction from √½ to √2. A ratio of 0 gets a finite
    // logarithm.
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

/// A recorded pixel beside its model. Ratio and misfit are 0 if the pixel is not compared.
struct ComparedPixel {
    bool is_compared;
    float ratio, misfit;
};

/// Model of a pixel. Recorded and expected counts are what is above the camera's offset: only these
/// have the statistics of photons.
struct PixelModel {
    float background;  ///< background less the offset
    float floor;       ///< least expected count: a smaller one is a rounding error
    float offset = 0;
    /// Returns the counts of a recorded pixel that is compared with an expected number. Those of a
    /// saturated pixel are at least its bound: a larger expected number has no misfit.
    CONVOLUME_DEVICE float counts(float recorded, float expected_counts) const {
        const bool saturated = is_saturated(recorded);
        const float above = (saturated ? saturated_mark(recorded) : recorded) - offset;
        const float counts = above > 0 ? above : 0;
        return saturated && counts < expected_counts ? expected_counts : counts;
    }
    /// Returns the expected counts.
    CONVOLUME_DEVICE float expected(float blurred) const {
        const float sum = blurred + background;
        return sum > floor ? sum : floor;
    }
    /// Compares a recorded pixel with its expected counts `m`, by `divide(y, m)`. `less` is
    /// subtracted from the ratio.
    template <class Divide>
    CONVOLUME_DEVICE ComparedPixel compare(float recorded, float m, float less,
                                           const Divide& divide) const {
        const bool compared = richardson_lucy::is_compared(recorded);
        const float y = counts(recorded, m);
        const float ratio = divide(y, m);
        const float misfit = richardson_lucy::misfit(y, m, ratio);
        return {compared, compared ? ratio - less : 0, compared ? misfit : 0};
    }
    /// Returns the error of the prediction of a pixel's held-out part, which is expected to be the
    /// share `share` of its model.
    CONVOLUME_DEVICE float prediction_error(float held_out, float m, float share) const {
        return richardson_lucy::is_compared(held_out) ? held_out - share * (m + offset) : 0;
    }
};

/// Returns the divisor of a step: the weight, which is the light that a voxel sends into the image,
/// plus the slope of a penalty. It is at least a tenth of the weight, so that a strong penalty
/// makes the step long, but not negative. Voxels that the image hardly sees would overshoot, so
/// that the slope counts by the root of the weight, as the noise of corrections does.
CONVOLUME_DEVICE float divisor(float weight, float slope) {
    const float sum = weight + slope * std::sqrt(weight);
    return sum > 0.1F * weight ? sum : 0.1F * weight;
}

// The rules of a step: they return the next estimate of a voxel from its point and its correction.
// Voxels with a smaller weight than `least_weight` become 0, since the image says nothing of them.

/// The point times its correction, divided by the weight.
struct MatchedRule {
    float least_weight;
    CONVOLUME_DEVICE float operator()(float point, float correction, float weight) const {
        const float factor = correction > 0 ? correction : 0;
        return weight < least_weight ? 0 : quotient(point * factor, weight);
    }
    /// Steps under a penalty with the slope `slope`.
    CONVOLUME_DEVICE float operator()(float point, float correction, float weight,
                                      float slope) const {
        const float factor = correction > 0 ? correction : 0;
        return weight < least_weight ? 0 : quotient(point * factor, divisor(weight, slope));
    }
};

/// The step of an unmatched back projector, which has projected the ratio less 1 back. It is at
/// least a tenth of the point.
struct UnmatchedRule {
    float least_weight;
    CONVOLUME_DEVICE float operator()(float point, float correction, float weight) const {
        const float factor = correction > -0.9F ? 1 + correction : 0.1F;
        return weight < least_weight ? 0 : point * factor;
    }
};

/// Least weight, above 0, of steps by divisors: samples beyond the object have the weight 0.
inline constexpr float least_divisor = 1e-30F;

/// Extrapolates from the previous estimate beyond the newest one. The point is at least
/// `least_share` of the newest estimate, since voxels that become 0 stay 0.
struct Extrapolation {
    float factor;
    float least_share;
    CONVOLUME_DEVICE float operator()(float newest, float before) const {
        const float ahead = newest + factor * (newest - before);
        const float least = least_share * newest;
        return ahead > least ? ahead : least;
    }
};

/// The functor of element passes (gpu/fft/element_job.hpp): loads extrapolated points, compares
/// images with models by their ratio, and updates by steps of Richardson and Lucy.
struct ElementFunctor {
    Extrapolation extrapolation{0, 0};
    // Members of comparisons.
    float held_out_share = 0;  ///< share of the model that held-out data are expected to be
    PixelModel model{0, 0};
    float less = 0;  ///< number to subtract from ratios
    /// Whether to sum the misfit, or else finiteness_probe() of the blurred estimate.
    bool sums_misfit = true;
    // Members of updates and advances.
    float least_weight = least_divisor;  ///< voxels of less weight become 0
    bool unmatched = false;              ///< whether steps use an unmatched back projector

    void use(const MatchedRule& rule) {
        unmatched = false;
        least_weight = rule.least_weight;
    }
    void use(const UnmatchedRule& rule) {
        unmatched = true;
        least_weight = rule.least_weight;
    }

    CONVOLUME_DEVICE float point(float newest, float before) const {
        return extrapolation(newest, before);
    }

    CONVOLUME_DEVICE bool is_compared(float recorded) const {
        return richardson_lucy::is_compared(recorded);
    }

    template <class Use>
    CONVOLUME_DEVICE void with_comparison(const Use& use) const {
        if (sums_misfit)
            use([this](float recorded, float blurred, bool inside, float& sum) {
                return ratio<true>(recorded, blurred, inside, sum);
            });
        else
            use([this](float recorded, float blurred, bool inside, float& sum) {
                return ratio<false>(recorded, blurred, inside, sum);
            });
    }

    CONVOLUME_DEVICE float held_out_error(float held_out, float blurred) const {
        return model.prediction_error(held_out, model.expected(blurred), held_out_share);
    }

    template <class Use>
    CONVOLUME_DEVICE void with_update(const Use& use) const {
        if (unmatched)
            use(UnmatchedRule{least_weight});
        else
            use(MatchedRule{least_weight});
    }

  private:
    // Returns the ratio of a sample and its model, and adds the misfit to `sum`; for samples that
    // are not compared, returns and adds 0. There is no branch, so that the work on many samples
    // overlaps.
    template <bool SumsMisfit>
    CONVOLUME_DEVICE float ratio(float recorded, float blurred, bool inside, float& sum) const {
        const ComparedPixel pixel =
            model.compare(recorded, model.expected(blurred), less, FastQuotient{});
        const bool counts = inside && pixel.is_compared;
        const float added = SumsMisfit ? pixel.misfit : finiteness_probe(blurred);
        sum += counts ? added : 0;
        return inside ? pixel.ratio : 0;
    }
};

}  // namespace convolume::deconvolve::richardson_lucy
