// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functors for every element of an array, on the host and on a device alike: they are called with
// the element's index, and results are added up. Grids tell the neighbors of a voxel.

#include <cstdint>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"
#include "core/short_float.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"

namespace convolume::deconvolve {

/// How far a voxel's neighbors are in memory, for each axis; 0 where there is none, so that what
/// is read there is the voxel itself.
struct NeighborOffsets {
    index_t ahead[3];
    index_t behind[3];
};

struct VoxelGrid {
    index_t extent[3] = {1, 1, 1};  ///< z, y, x

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

/// Some rows of a grid.
struct VoxelRows : VoxelGrid {
    IndexRange own;
    CONVOLUME_DEVICE index_t row_count() const { return own.end - own.begin; }
};

/// The result of a functor for an element of an array, or for a voxel of a grid. Not defined.
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

/// A sum of numbers as the first of two sums.
CONVOLUME_DEVICE SumPair pair_of(double sum) {
    return {sum, 0};
}
CONVOLUME_DEVICE SumPair pair_of(const SumPair& sum) {
    return sum;
}

/// A functor whose results are sums of pairs.
template <class Functor>
struct SumPairFunctor {
    Functor functor;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const { return pair_of(functor(i)); }
};

/// Voxels outside the image that send less than this share of their light into it are left dark:
/// what float32 transforms leave of their correction is no information (Bertero and Boccacci cut
/// there, too).
inline constexpr float least_weight = 1e-2F;

struct ConstantFill {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = value; }
};

/// To uint16, of values that fit.
struct Uint16Copy {
    std::uint16_t* target;
    const float* source;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        target[i] = static_cast<std::uint16_t>(source[i]);
    }
};

/// The light that each voxel sends into the image.
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

/// The number in the image of a pixel of a tile's planes.
struct PixelNumbers {
    index_t first = 0;  ///< of the first pixel of these planes
    index_t rows = 1, row = 1, whole_plane = 1, whole_row = 1;
    bool is_whole = true;

    CONVOLUME_DEVICE index_t operator[](index_t i) const {
        if (is_whole) return first + i;
        const index_t plane = i / (rows * row);
        return first + plane * whole_plane + i / row % rows * whole_row + i % row;
    }
};

/// An estimate that was given: scaled, and above 0 wherever light can be, since what is 0 stays 0.
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

/// 1 where pixels are compared, 0 elsewhere.
struct ComparedMask {
    const float* data;
    float* target;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        target[i] = richardson_lucy::is_compared(data[i]) ? 1 : 0;
    }
};

struct ArrayCopy {
    const float* source;
    float* target;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] = source[i]; }
};

/// An image as float32 or, where that is null, as uint16.
struct ImagePixels {
    const float* values;
    const std::uint16_t* narrow;
    CONVOLUME_DEVICE float operator[](index_t i) const {
        return values != nullptr ? values[i] : static_cast<float>(narrow[i]);
    }
};

/// model <- data / (model + background); the sum is the misfit Σ [m - y + y log(y / m)], the
/// negative likelihood relative to a perfect fit.
template <class Data>
struct DataRatio {
    Data data;
    float* model;
    richardson_lucy::PixelModel rule;
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
template <class Data>
DataRatio(Data, float*, richardson_lucy::PixelModel) -> DataRatio<Data>;

using Ratio = DataRatio<const float*>;

/// correction <- point * correction / weight: one step of Richardson and Lucy from `point`. The
/// result is what the step adds.
template <class AnyWeights>
struct MultiplicativeStep {
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
template <class AnyWeights>
MultiplicativeStep(const float*, float*, AnyWeights, float) -> MultiplicativeStep<AnyWeights>;

using Step = MultiplicativeStep<const float*>;

/// correction <- point (1 + correction): a step with an unmatched back projector.
template <class AnyWeights>
struct UnmatchedStep {
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
template <class AnyWeights>
UnmatchedStep(const float*, float*, AnyWeights, float) -> UnmatchedStep<AnyWeights>;

/// previous <- the point ahead of the estimate.
struct ExtrapolatedPoints {
    const float* estimate;
    float* previous;
    richardson_lucy::Extrapolation extrapolation;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        previous[i] = extrapolation(estimate[i], previous[i]);
    }
};

/// The same, and the squared difference of data that were set apart from `share` of the model,
/// which they expect.
template <class AnyRatio>
struct RatioWithHeldOut {
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
template <class AnyRatio>
RatioWithHeldOut(AnyRatio, const float*, float) -> RatioWithHeldOut<AnyRatio>;

/// Changes that steps add to their points, kept in 32 or in 16 bits.
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

/// Takes a step and keeps what it adds; sums of that times what the last one added, and of the
/// latter squared.
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

/// target <- target + factor source.
struct ScaledAddition {
    float* target;
    const float* source;
    float factor;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += factor * source[i]; }
};

/// ratio <- ratio - 1, 0 where pixels are not compared.
template <class Data>
struct RatioLessOne {
    Data data;
    float* ratio;
    CONVOLUME_DEVICE void operator()(index_t i) const {
        ratio[i] = richardson_lucy::is_compared(data[i]) ? ratio[i] - 1 : 0;
    }
};
template <class Data>
RatioLessOne(Data, float*) -> RatioLessOne<Data>;

struct ConstantAddition {
    float* target;
    float value;
    CONVOLUME_DEVICE void operator()(index_t i) const { target[i] += value; }
};

}  // namespace convolume::deconvolve
