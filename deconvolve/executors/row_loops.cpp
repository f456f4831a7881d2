// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/row_loops.hpp"

#include <algorithm>
#include <type_traits>

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "deconvolve/executors/row_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::deconvolve::HWY_NAMESPACE {

void fill_point(const PointRow& row, float* point, index_t count) {
    const float* const newest = row.newest;
    const float* const before = row.before;
    const richardson_lucy::Extrapolation extrapolation = row.extrapolation;
    if (before == nullptr || row.restart) {
#pragma omp simd
        for (index_t i = 0; i < count; ++i) point[i] = newest[i];
    } else {
#pragma omp simd
        for (index_t i = 0; i < count; ++i) point[i] = extrapolation(newest[i], before[i]);
    }
}

/// Weights of pixels that count alike.
struct UnitWeights {
    constexpr float operator[](index_t) const { return 1; }
};

template <class Weights>
HWY_INLINE SumPair fill_weighted_ratio(const RatioRow& row, const Weights weight, float* model,
                                       index_t count) {
    const float* const data = row.data;
    const float* const held_out = row.held_out;
    const richardson_lucy::PixelModel rule = row.rule;
    const float share = row.held_out_share, less = row.less;
    constexpr richardson_lucy::ExactQuotient divide;
    double misfits = 0, errors = 0;
    if (held_out != nullptr) {
#pragma omp simd reduction(+ : errors)
        for (index_t i = 0; i < count; ++i) {
            const float error = rule.prediction_error(held_out[i], rule.expected(model[i]), share);
            const double away = static_cast<double>(error);
            errors += static_cast<double>(weight[i]) * (away * away);
        }
    }
    if (std::is_same_v<Weights, UnitWeights> && !row.sums_misfit) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (index_t i = 0; i < count; ++i) {
            const float blurred = model[i];
            const auto pixel = rule.compare(data[i], rule.expected(blurred), less, divide);
            model[i] = pixel.ratio;
            sum += pixel.is_compared ? richardson_lucy::finiteness_probe(blurred) : 0;
        }
        return {static_cast<double>(sum), errors};
    }
#pragma omp simd reduction(+ : misfits)
    for (index_t i = 0; i < count; ++i) {
        const auto pixel = rule.compare(data[i], rule.expected(model[i]), less, divide);
        model[i] = pixel.ratio * weight[i];
        misfits += static_cast<double>(weight[i]) * static_cast<double>(pixel.misfit);
    }
    return {misfits, errors};
}

SumPair fill_ratio(const RatioRow& row, float* model, index_t count) {
    if (row.weight != nullptr) return fill_weighted_ratio(row, row.weight, model, count);
    return fill_weighted_ratio(row, UnitWeights{}, model, count);
}

SumPair fill_step(const StepRow& row, float* next, index_t count) {
    const float* const newest = row.point.newest;
    const float* const correction = row.correction;
    const float* const weight = row.weight;
    const richardson_lucy::MatchedRule rule = row.rule;
    const float* const before = row.point.before;
    float* const change = row.change;
    const richardson_lucy::Extrapolation extrapolation = row.point.extrapolation;
    if (before == nullptr) {
#pragma omp simd
        for (index_t i = 0; i < count; ++i) next[i] = rule(newest[i], correction[i], weight[i]);
        return {};
    }
    // A restart ignores the previous estimate: extrapolating from equal estimates gives the newest.
    const bool restart = row.point.restart;
    const float* const other = restart ? newest : before;
    if (change == nullptr) {
#pragma omp simd
        for (index_t i = 0; i < count; ++i) {
            const float point = extrapolation(newest[i], other[i]);
            next[i] = rule(point, correction[i], weight[i]);
        }
        return {};
    }
    // A condition in the loop would keep the compiler from using vectors.
    if (restart) std::fill_n(change, count, 0.0F);
    double products = 0, squares = 0;
#pragma omp simd reduction(+ : products, squares)
    for (index_t i = 0; i < count; ++i) {
        const float point = extrapolation(newest[i], other[i]);
        const float stepped = rule(point, correction[i], weight[i]);
        const auto old = static_cast<double>(change[i]);
        const float added = stepped - point;
        next[i] = stepped;
        change[i] = added;
        products += static_cast<double>(added) * old;
        squares += old * old;
    }
    return {products, squares};
}

}  // namespace convolume::deconvolve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::deconvolve {

HWY_EXPORT(fill_point);
HWY_EXPORT(fill_ratio);
HWY_EXPORT(fill_step);

void fill_point(const PointRow& row, float* point, index_t count) {
    HWY_DYNAMIC_DISPATCH(fill_point)(row, point, count);
}
SumPair fill_ratio(const RatioRow& row, float* model, index_t count) {
    return HWY_DYNAMIC_DISPATCH(fill_ratio)(row, model, count);
}
SumPair fill_step(const StepRow& row, float* next, index_t count) {
    return HWY_DYNAMIC_DISPATCH(fill_step)(row, next, count);
}

}  // namespace convolume::deconvolve
#endif
