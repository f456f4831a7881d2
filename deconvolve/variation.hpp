// SPDX-License-Identifier: Apache-2.0
#pragma once
// Total variation, its derivative, and steps that it penalizes:
//     TV(x) = Σ √(Σ_a d_a² + ε²)
// d_a is the forward difference along axis a divided by the spacing, and 0 at the far end.

#include <cmath>

#include "deconvolve/functors.hpp"

namespace convolume::deconvolve {

struct TotalVariation : VoxelGrid {
    float per_step[3] = {1, 1, 1};  ///< 1 / spacing along each axis
    float smallest = 1e-6F;         ///< ε, which keeps the root differentiable

    /// Returns the squared gradient at voxel i, plus ε². `ahead` has the offsets of its next
    /// neighbors.
    CONVOLUME_DEVICE float squared_magnitude(const float* x, index_t i,
                                             const index_t (&ahead)[3]) const {
        float sum = smallest * smallest;
        for (int axis = 0; axis < 3; ++axis) {
            const float d = (x[i + ahead[axis]] - x[i]) * per_step[axis];
            sum += d * d;
        }
        return sum;
    }
    CONVOLUME_DEVICE float magnitude(const float* x, index_t i, const NeighborOffsets& near) const {
        return std::sqrt(squared_magnitude(x, i, near.ahead));
    }

    /// Returns ∂TV / ∂x_i, from -6 to 6 for spacings of 1.
    CONVOLUME_DEVICE float derivative(const float* x, index_t i,
                                      const NeighborOffsets& near) const {
        const float here = inverse_root(squared_magnitude(x, i, near.ahead));
        float sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const float scale = per_step[axis] * per_step[axis];
            const index_t j = i - near.behind[axis];
            index_t ahead_of_j[3] = {near.ahead[0], near.ahead[1], near.ahead[2]};
            ahead_of_j[axis] = near.behind[axis];
            const float there = inverse_root(squared_magnitude(x, j, ahead_of_j));
            sum += scale * ((x[i] - x[j]) * there - (x[i + near.ahead[axis]] - x[i]) * here);
        }
        return sum;
    }
    CONVOLUME_DEVICE float derivative(const float* x, index_t i) const {
        return derivative(x, i, around(i));
    }

  private:
    CONVOLUME_DEVICE static float inverse_root(float value) {
#ifdef __CUDA_ARCH__
        return rsqrtf(value);
#else
        return 1 / std::sqrt(value);
#endif
    }
};

/// A step of Richardson and Lucy that the total variation penalizes.
struct PenalizedStep {
    RuleStep<const float*> step;
    TotalVariation variation;
    float tv_weight;
    CONVOLUME_DEVICE float operator()(index_t i, const NeighborOffsets& near) const {
        return step(i, tv_weight * variation.derivative(step.point, i, near));
    }
};

/// Sums the penalty: the weight times the total variation.
struct VariationPenalty {
    const float* point;
    TotalVariation variation;
    double tv_weight;
    CONVOLUME_DEVICE SumPair operator()(index_t i, const NeighborOffsets& near) const {
        return {tv_weight * static_cast<double>(variation.magnitude(point, i, near)), 0};
    }
};

/// Makes the divisors of penalized steps over planes whose points and weights begin with voxel
/// `first`. A divisor is infinite where there is no light, so that a step without a penalty then
/// gives 0. Sums the penalty. `point` has one more plane on either side where the object has one.
struct PenalizedDivisor {
    const float* point;
    const float* weight;
    index_t weight_period;  ///< number of voxels after which weights repeat
    float* divisor;
    index_t first;
    float least_weight;
    TotalVariation variation;
    float tv_weight;
    CONVOLUME_DEVICE SumPair operator()(index_t i, const NeighborOffsets& near) const {
        const index_t at = i - first;
        const float w = weight[at % weight_period];
        divisor[at] = w < least_weight ? HUGE_VALF
                                       : richardson_lucy::divisor(
                                             w, tv_weight * variation.derivative(point, at, near));
        return {static_cast<double>(tv_weight) *
                    static_cast<double>(variation.magnitude(point, at, near)),
                0};
    }
};

}  // namespace convolume::deconvolve
