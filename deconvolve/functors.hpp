// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functors for every element of an array, on the host and on a device. They are called with the
// element's index, and their results are added up. Functors over a voxel grid also get the offsets
// of the voxel's neighbors.

#include <cstdint>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"
#include "core/short_float.hpp"
#include "deconvolve/formulas.hpp"

namespace convolume::deconvolve {

/// Distances in memory from a voxel to its neighbors along each axis, in samples. A distance is 0
/// at an edge, so that the neighbor there is the voxel itself.
struct NeighborOffsets {
    index_t ahead[3];
    index_t behind[3];
};

struct VoxelGrid {
    index_t extent[3] = {1, 1, 1};  ///< numbers of voxels along z, y, x

    CONVOLUME_DEVICE index_t rows() const { return extent[0] * extent[1]; }

    CONVOLUME_DEVICE NeighborOffsets around(index_t row, index_t x) const {
        const index_t z = row / extent[1];
        const index_t at[3] = {z, row - z * extent[1], x};
        const index_t stride[3] = {extent[1] * extent[2], extent[2], 1};
        NeighborOffsets near;
        for (int axis = 0; axis < 3; ++axis) {
            near.ahead[axis] = at[axis] + 1 < extent[axis] ? stride[axis] : 0;
            near.behind[axis] = at[axis] > 0 ? stride[axis] : 0;
        }
        return near;
    }
    CONVOLUME_DEVICE NeighborOffsets around(index_t i) const {
        const index_t row = i / extent[2];
        return around(row, i - row * extent[2]);
    }
};

/// Consecutive rows of a voxel grid.
struct VoxelRows : VoxelGrid {
    IndexRange own;
    CONVOLUME_DEVICE index_t row_count() const { return own.end - own.begin; }
};

/// Functions that return the type of a functor's result for an element of an array, or for a voxel
/// of a grid. They are declared for decltype, and have no bodies.
template <class Functor>
std::invoke_result_t<Functor, index_t> result_of(const Functor&, index_t);
template <class Functor>
std::invoke_result_t<Functor, index_t> result_of(const Functor&, const IndexRange&);
template <class Functor>
std::invoke_result_t<Functor, index_t, NeighborOffsets> result_of(const Functor&, const VoxelGrid&);

struct SumPair {
    double first = 0;
    double second = 0;
    CONVOLUME_DEVICE SumPair& operator+=(const SumPair& other) {
        first += other.first;
        second += other.second;
        return *this;
    }
};

/// Returns a sum as a pair, whose second sum is 0 unless there are two sums.
CONVOLUME_DEVICE SumPair pair_of(double sum) {
    return {sum, 0};
}
CONVOLUME_DEVICE SumPair pair_of(const SumPair& sum) {
    return sum;
}

/// A functor whose result is a pair of sums, made from the result of another functor.
template <class Functor>
struct SumPairFunctor {
    Functor functor;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const { return pair_of(functor(i)); }
};

/// Least share of a voxel's light that must reach the image. Voxels that send less stay dark, since
/// float32 transforms leave rounding errors of their correction (Bertero and Boccacci use a
/// threshold, too).
inline constexpr float least_weight = 1e-2F;

struct ConstantFill {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = value; }
};

/// Copies values that are exact in uint16.
struct Uint16Copy {
    std::uint16_t* target;
    const float* source;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        target[i] = static_cast<std::uint16_t>(source[i]);
    }
};

/// Weights of voxels: the light that each voxel sends into the image.
struct Weights {
    const float* values = nullptr;
    index_t plane = 1;  ///< number of voxels in a plane
    EqualPlanes alike{};
    CONVOLUME_DEVICE float operator[](index_t i) const {
        if (alike.first == alike.last) return values[i];
        const index_t z = i / plane;
        return values[i + (alike.stored(z) - z) * plane];
    }
};

/// Numbers in the image of the pixels of a tile's planes.
struct PixelNumbers {
    index_t first = 0;  ///< number of the first pixel of these planes in the image
    index_t rows = 1, row = 1, whole_plane = 1, whole_row = 1;
    bool is_whole = true;

    CONVOLUME_DEVICE index_t operator[](index_t i) const {
        if (is_whole) return first + i;
        const index_t plane = i / (rows * row);
        return first + plane * whole_plane + i / row % rows * whole_row + i % row;
    }
};

/// Scales the caller's initial estimate, and makes it positive wherever light can be: voxels that
/// are 0 would stay 0.
struct ScaledStart {
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

/// Fills the mask of pixels: 0 for those that are not compared, and for others 1, or their weight.
struct ComparedMask {
    const float* data;
    float* target;
    const float* given = nullptr;  ///< null: all pixels that are compared have equal weights
    CONVOLUME_DEVICE void operator()(index_t i) const {
        const float weight = given != nullptr ? given[i] : 1;
        target[i] = richardson_lucy::is_compared(data[i]) ? weight : 0;
    }
};

/// Replaces a pixel by factor · max(pixel − offset, 0), and so the bound in the mark of a
/// saturated one. Pixels that are left out keep their mark.
struct LightAboveOffset {
    float* pixels;
    float factor, offset;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        const float pixel = pixels[i];
        if (richardson_lucy::is_saturated(pixel))
            pixels[i] =
                richardson_lucy::saturated_mark(light(richardson_lucy::saturated_mark(pixel)));
        else if (richardson_lucy::is_measured(pixel))
            pixels[i] = light(pixel);
    }

  private:
    CONVOLUME_DEVICE float light(float value) const {
        const float above = value - offset;
        return above > 0 ? factor * above : 0;
    }
};

struct InPlaceDivision {
    float* values;
    float divisor;
    CONVOLUME_DEVICE void operator()(index_t i) const { values[i] /= divisor; }
};

struct ArrayCopy {
    const float* source;
    float* target;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = source[i]; }
};

/// Pixels of an image as float32, or as uint16 if `values` is null.
struct ImagePixels {
    const float* values;
    const std::uint16_t* uint16_values;
    CONVOLUME_DEVICE float operator[](index_t i) const {
        return values != nullptr ? values[i] : static_cast<float>(uint16_values[i]);
    }
};

/// Divides the data by the model, and sums the misfit, the negative likelihood relative to a
/// perfect fit:
///     y = data - offset,  m = model + background - offset
///     model = y / m - less,  misfit = Σ [m - y + y log(y / m)]
template <class Data>
struct DataRatio {
    Data data;
    float* model;
    richardson_lucy::PixelModel rule;
    float less;  ///< number to subtract from the ratios of compared pixels
    CONVOLUME_DEVICE float expected(index_t i) const { return rule.expected(model[i]); }
    CONVOLUME_DEVICE double operator()(index_t i) const { return compared(i, expected(i)); }
    CONVOLUME_DEVICE double compared(index_t i, float m) const {
        const richardson_lucy::ComparedPixel pixel =
            rule.compare(data[i], m, less, richardson_lucy::ExactQuotient{});
        model[i] = pixel.ratio;
        return static_cast<double>(pixel.misfit);
    }
};
template <class Data>
DataRatio(Data, float*, richardson_lucy::PixelModel, float) -> DataRatio<Data>;

/// Makes voxels 0 that send too little light into the image.
struct UnseenVoxels {
    float* estimate;
    const float* weights;
    float least_weight;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        if (weights[i] < least_weight) estimate[i] = 0;
    }
};

/// The rule of a step by a part of the pixels: voxels that this part says nothing of stay as they
/// are.
template <class Rule>
struct PartRule {
    Rule rule;
    template <class... Slope>
    CONVOLUME_DEVICE float operator()(float point, float correction, float weight,
                                      Slope... slope) const {
        return weight < rule.least_weight ? point : rule(point, correction, weight, slope...);
    }
};

/// A step from `point` by a rule, which stores the next estimate in place of the correction. Its
/// result is the change that the step adds to the point.
template <class AnyWeights, class Rule = richardson_lucy::MatchedRule>
struct RuleStep {
    const float* point;
    float* correction;
    AnyWeights weight;
    Rule rule;
    template <class... Slope>
    CONVOLUME_DEVICE float operator()(index_t i, Slope... slope) const {
        const float next = rule(point[i], correction[i], weight[i], slope...);
        correction[i] = next;
        return next - point[i];
    }
};
template <class AnyWeights, class Rule>
RuleStep(const float*, float*, AnyWeights, Rule) -> RuleStep<AnyWeights, Rule>;

/// Replaces the previous estimate by a point extrapolated beyond the newest estimate.
struct ExtrapolatedPoints {
    const float* estimate;
    float* previous;
    richardson_lucy::Extrapolation extrapolation;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        previous[i] = extrapolation(estimate[i], previous[i]);
    }
};

/// A data ratio that also sums squared errors of the prediction of held-out data: the share `share`
/// of the model is expected there.
template <class AnyRatio>
struct RatioWithHeldOut {
    AnyRatio ratio;
    const float* held_out;  ///< recorded data that are held out; null: none
    float share;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const float m = ratio.expected(i);
        if (held_out == nullptr) return {ratio.compared(i, m), 0};
        const double away = static_cast<double>(ratio.rule.prediction_error(held_out[i], m, share));
        return {ratio.compared(i, m), away * away};
    }
};
template <class AnyRatio>
RatioWithHeldOut(AnyRatio, const float*, float) -> RatioWithHeldOut<AnyRatio>;

/// A data ratio whose pixels count by their weights: in the image that is projected back, and in
/// the sums.
template <class AnyRatio>
struct WeightedRatio {
    AnyRatio ratio;
    const float* weight;
    float* ratios;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const SumPair sums = pair_of(ratio(i));
        ratios[i] *= weight[i];
        const double factor = weight[i];
        return {factor * sums.first, factor * sums.second};
    }
};
template <class AnyRatio>
WeightedRatio(AnyRatio, const float*, float*) -> WeightedRatio<AnyRatio>;

/// The last change of each voxel that a step has added to its point, in 32 or in 16 bits.
struct FloatChanges {
    float* values;
    CONVOLUME_DEVICE float last(index_t i) const { return values[i]; }
    CONVOLUME_DEVICE void keep(index_t i, float change) const { values[i] = change; }
};
struct ShortFloatChanges {
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

/// A step that keeps the changes it adds to its point. Sums the product of the change and the last
/// one, and the square of the last one.
template <class AnyStep, class Changes = FloatChanges>
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

/// Adds a multiple of another array: target += factor * source.
struct ScaledAddition {
    float* target;
    const float* source;
    float factor;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += factor * source[i]; }
};

struct ConstantAddition {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += value; }
};

}  // namespace convolume::deconvolve
