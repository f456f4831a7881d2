// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happens to every element of an array, on the host and on a device alike. A stage is called
// with the element's index; those with a result are summed.

#include <cstdint>

#include "core/short_float.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"
#include "deconvolve/variation.hpp"

namespace convolume::deconvolve {

struct SumPair {
    double first = 0;
    double second = 0;
    CONVOLUME_DEVICE SumPair& operator+=(const SumPair& other) {
        first += other.first;
        second += other.second;
        return *this;
    }
};

struct Fill {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = value; }
};

/// To uint16, of values that fit.
struct Narrow {
    std::uint16_t* target;
    const float* source;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        target[i] = static_cast<std::uint16_t>(source[i]);
    }
};

/// What each voxel sends into the image.
struct Weights {
    const float* values = nullptr;
    index_t plane = 1;  ///< voxels of one
    AlikePlanes alike{};
    CONVOLUME_DEVICE float operator[](index_t i) const {
        if (alike.first == alike.last) return values[i];
        const index_t z = i / plane;
        return values[i + (alike.stored(z) - z) * plane];
    }
};

/// An estimate that was given: scaled, and above 0 wherever light can be, since what is 0 stays 0.
struct Begin {
    float* estimate;
    Weights weight;
    float least_weight;
    float scale;
    float least;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        const float value = scale * estimate[i];
        estimate[i] = weight[i] < least_weight ? 0 : value > 0 ? value : least;
    }
};

/// 1 where pixels are compared, 0 elsewhere.
struct Compared {
    const float* data;
    float* target;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        target[i] = richardson_lucy::is_compared(data[i]) ? 1 : 0;
    }
};

struct Copy {
    const float* source;
    float* target;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = source[i]; }
};

/// An image as float32 or, where that is null, as uint16.
struct Pixels {
    const float* values;
    const std::uint16_t* narrow;
    CONVOLUME_DEVICE float operator[](index_t i) const {
        return values != nullptr ? values[i] : static_cast<float>(narrow[i]);
    }
};

/// model <- data / (model + background); the sum is the misfit Σ [m - y + y log(y / m)], the
/// negative likelihood relative to a perfect fit.
template <class Data>
struct RatioWith {
    Data data;
    float* model;
    richardson_lucy::Model rule;
    CONVOLUME_DEVICE float expected(index_t i) const { return rule.expected(model[i]); }
    CONVOLUME_DEVICE double operator()(index_t i) const { return compared(i, expected(i)); }
    CONVOLUME_DEVICE double compared(index_t i, float m) const {
        const float y = data[i];
        const bool compared = richardson_lucy::is_compared(y);
        const float ratio = y / m;
        model[i] = compared ? ratio : 0;
        const float misfit = richardson_lucy::misfit(y, m, ratio);
        return static_cast<double>(compared ? misfit : 0);
    }
};

using Ratio = RatioWith<const float*>;

/// correction <- point * correction / weight: one step of Richardson and Lucy from `point`. The
/// result is what the step adds.
template <class AnyWeights>
struct StepWith {
    const float* point;
    float* correction;
    AnyWeights weight;
    float least_weight;
    CONVOLUME_DEVICE float operator()(index_t i) const {
        return taken(i, richardson_lucy::step(point[i], correction[i], weight[i], least_weight));
    }
    CONVOLUME_DEVICE float operator()(index_t i, float slope) const {
        return taken(
            i, richardson_lucy::step(point[i], correction[i], weight[i], least_weight, slope));
    }
    CONVOLUME_DEVICE float taken(index_t i, float next) const {
        correction[i] = next;
        return next - point[i];
    }
};

using Step = StepWith<const float*>;

/// correction <- point (1 + correction): a step with an unmatched back projector.
template <class AnyWeights>
struct UnmatchedStepWith {
    const float* point;
    float* correction;
    AnyWeights weight;
    float least_weight;
    CONVOLUME_DEVICE float operator()(index_t i) const {
        const float next =
            richardson_lucy::unmatched_step(point[i], correction[i], weight[i], least_weight);
        correction[i] = next;
        return next - point[i];
    }
};

using UnmatchedStep = UnmatchedStepWith<const float*>;

/// A step of Richardson and Lucy with the slope of the total variation.
struct SmoothStep {
    Step step;
    Variation variation;
    float tv_weight;
    CONVOLUME_DEVICE float operator()(index_t i, const Neighbors& near) const {
        return step(i, tv_weight * variation.derivative(step.point, i, near));
    }
};

struct TotalVariation {
    const float* point;
    Variation variation;
    CONVOLUME_DEVICE double operator()(index_t i, const Neighbors& near) const {
        return static_cast<double>(variation.magnitude(point, i, near));
    }
    CONVOLUME_DEVICE double operator()(index_t i) const { return (*this)(i, variation.around(i)); }
};

/// For steps with a total variation over planes whose points and weights begin with voxel `first`:
/// divisor <- what SmoothStep divides by, infinite where there is no light, so that a step that
/// knows of no total variation becomes that one. The sum is the total variation. `point` has a
/// plane more on either side where there is one.
struct SmoothDivisor {
    const float* point;
    const float* weight;
    index_t weight_period;  ///< voxels after which weights repeat
    float* divisor;
    index_t first;
    float least_weight;
    Variation variation;
    float tv_weight;
    CONVOLUME_DEVICE SumPair operator()(index_t i, const Neighbors& near) const {
        const index_t at = i - first;
        const float w = weight[at % weight_period];
        divisor[at] = w < least_weight ? HUGE_VALF
                                       : richardson_lucy::divisor(
                                             w, tv_weight * variation.derivative(point, at, near));
        return {static_cast<double>(variation.magnitude(point, at, near)), 0};
    }
};

/// previous <- the point ahead of the estimate.
struct Extrapolate {
    const float* estimate;
    float* previous;
    richardson_lucy::Ahead ahead;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        previous[i] = ahead(estimate[i], previous[i]);
    }
};

/// The same, and the squared difference of data that were set apart from `share` of the model,
/// which they expect.
template <class AnyRatio>
struct RatioHeldOutWith {
    AnyRatio ratio;
    const float* held;  ///< null: none
    float share;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const float m = ratio.expected(i);
        if (held == nullptr) return {ratio.compared(i, m), 0};
        const float y = held[i];
        const float apart = richardson_lucy::is_compared(y) ? y - share * m : 0;
        const double away = static_cast<double>(apart);
        return {ratio.compared(i, m), away * away};
    }
};

using RatioHeldOut = RatioHeldOutWith<Ratio>;

/// What steps add to their points, kept whole or in 16 bits.
struct WholeChanges {
    float* values;
    CONVOLUME_DEVICE float last(index_t i) const { return values[i]; }
    CONVOLUME_DEVICE void keep(index_t i, float change) const { values[i] = change; }
};
struct ShortChanges {
    ShortFloat* values;
    bool has_last;
    ShortFormat last_format, format;
    CONVOLUME_DEVICE float last(index_t i) const {
        return has_last ? last_format.lengthened(values[i]) : 0;
    }
    CONVOLUME_DEVICE void keep(index_t i, float change) const {
        values[i] = format.shortened(change);
    }
};

/// Takes a step and keeps what it adds; sums of that times what the last one added, and of the
/// latter squared.
template <class AnyStep, class Changes = WholeChanges>
struct StepWithProducts {
    AnyStep step;
    Changes changes;
    template <class... Near>
    CONVOLUME_DEVICE SumPair operator()(index_t i, const Near&... near) const {
        const double old = changes.last(i);
        const float change = step(i, near...);
        changes.keep(i, change);
        return {change * old, old * old};
    }
};

/// target <- target + factor source.
struct AddScaled {
    float* target;
    const float* source;
    float factor;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += factor * source[i]; }
};

/// ratio <- ratio - 1, 0 where pixels are not compared.
template <class Data>
struct LessOneWith {
    Data data;
    float* ratio;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        ratio[i] = richardson_lucy::is_compared(data[i]) ? ratio[i] - 1 : 0;
    }
};

using LessOne = LessOneWith<const float*>;

struct Shift {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += value; }
};

struct Dot {
    const float* a;
    const float* b;
    CONVOLUME_DEVICE double operator()(index_t i) const {
        return static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
};

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

/// The first of two sums; the other is 0.
template <class Stage>
struct AsPair {
    Stage stage;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const { return {stage(i), 0}; }
};

/// A step of conjugate gradients: the solution advances, the residual sinks; the sum is its square.
struct Advance {
    float* solution;
    float* residual;
    const float* direction;
    const float* image_of_direction;
    float length;
    CONVOLUME_DEVICE double operator()(index_t i) const {
        solution[i] += length * direction[i];
        residual[i] -= length * image_of_direction[i];
        return static_cast<double>(residual[i]) * static_cast<double>(residual[i]);
    }
};

/// direction <- residual + factor direction.
struct NextDirection {
    float* direction;
    const float* residual;
    float factor;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        direction[i] = residual[i] + factor * direction[i];
    }
};

}  // namespace convolume::deconvolve
