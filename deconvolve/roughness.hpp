// SPDX-License-Identifier: Apache-2.0
#pragma once
// Good's roughness of an object, and steps that it penalizes. I. J. Good and R. A. Gaskins,
// Biometrika 58:255 (1971); in microscopy P. J. Verveer and T. M. Jovin, J. Opt. Soc. Am. A 14:1696
// (1997).
//     R(x) = Σ w_a (√x_i - √x_j)²
// The sum has each pair of neighbors i, j along an axis a once. w_a is the weight, divided by the
// square of the axis' spacing. Pairs with a voxel of 0 do not count: such voxels are dark because
// the image says nothing of them. R is convex, and so is the objective.
//
// A step minimizes a function that is nowhere below the objective, and equal to it at the point p.
// For the likelihood it is that of Richardson and Lucy. For the penalty it is that of A. R. De
// Pierro, IEEE Trans. Med. Imaging 14:132 (1995): with f = √x, g = √p and s = g_i + g_j,
//     (f_i - f_j)² <= (2 f_i - s)² / 2 + (2 f_j - s)² / 2
// So each voxel has an equation of its own, which has one root that is not negative:
//     (a + 2 W) f² - S f - p c = 0,  a = Aᵀ1,  c = Aᵀ(y / (A p + b)),  W = Σ w_a,  S = Σ w_a s
// These sums have the neighbors of one voxel. A step therefore never raises the objective.

#include <cmath>

#include "deconvolve/functors.hpp"

namespace convolume::deconvolve {

struct Roughness : VoxelGrid {
    float pair_weight[3] = {0, 0, 0};  ///< w_a: the weight of a pair along each axis

    /// Sums over the neighbors of a voxel that count.
    struct NeighborSums {
        float root = 0;         ///< √x of the voxel itself
        float weights = 0;      ///< W
        float roots = 0;        ///< S
        float differences = 0;  ///< Σ w_a (√x_i - √x_j), which is √x_i ∂R / ∂x_i
    };
    CONVOLUME_DEVICE NeighborSums sums(const float* x, index_t i,
                                       const NeighborOffsets& near) const {
        NeighborSums sums;
        sums.root = std::sqrt(x[i]);
        for (int axis = 0; axis < 3; ++axis) {
            add(x, i, near.ahead[axis], pair_weight[axis], sums);
            add(x, i, -near.behind[axis], pair_weight[axis], sums);
        }
        return sums;
    }

    /// Returns the penalty of the pairs of voxel i with its next neighbors.
    CONVOLUME_DEVICE float penalty(const float* x, index_t i, const NeighborOffsets& near) const {
        const float root = std::sqrt(x[i]);
        float sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const float next = x[i + near.ahead[axis]];
            const float difference = root - std::sqrt(next);
            const float square = pair_weight[axis] * difference * difference;
            sum += next > 0 && x[i] > 0 ? square : 0;
        }
        return sum;
    }

  private:
    CONVOLUME_DEVICE static void add(const float* x, index_t i, index_t offset, float weight,
                                     NeighborSums& sums) {
        const float neighbor = x[i + offset];
        const float w = offset != 0 && neighbor > 0 ? weight : 0;
        const float root = std::sqrt(neighbor);
        sums.weights += w;
        sums.roots += w * (sums.root + root);
        sums.differences += w * (sums.root - root);
    }
};

/// Sums the penalty.
struct RoughnessPenalty {
    const float* point;
    Roughness roughness;
    CONVOLUME_DEVICE SumPair operator()(index_t i, const NeighborOffsets& near) const {
        return {static_cast<double>(roughness.penalty(point, i, near)), 0};
    }
};

/// Sums what is left of the optimality condition, |x ∂Φ / ∂x| of the objective Φ, and the light
/// that reaches the image, a x. Dark voxels do not count.
template <class AnyWeights>
struct RoughnessResidual {
    const float* point;
    const float* correction;
    AnyWeights weight;
    float least_weight;
    Roughness roughness;
    CONVOLUME_DEVICE SumPair operator()(index_t i, const NeighborOffsets& near) const {
        const float a = weight[i];
        const Roughness::NeighborSums sums = roughness.sums(point, i, near);
        const float slope = point[i] * (a - correction[i]) + sums.root * sums.differences;
        const bool counts = !(a < least_weight);
        return {counts ? static_cast<double>(std::fabs(slope)) : 0,
                counts ? static_cast<double>(a * point[i]) : 0};
    }
};
template <class AnyWeights>
RoughnessResidual(const float*, const float*, AnyWeights, float, Roughness)
    -> RoughnessResidual<AnyWeights>;

/// A step that the roughness penalizes, which stores the next estimate in place of the correction.
/// Its result is the change that it adds to the point.
template <class AnyWeights>
struct RoughnessStep {
    const float* point;
    float* correction;
    AnyWeights weight;
    float least_weight;
    Roughness roughness;
    CONVOLUME_DEVICE float operator()(index_t i, const NeighborOffsets& near) const {
        const float a = weight[i];
        const float light = point[i] * (correction[i] > 0 ? correction[i] : 0);
        const Roughness::NeighborSums sums = roughness.sums(point, i, near);
        const float divisor = a + 2 * sums.weights;
        const float under_root = sums.roots * sums.roots + 4 * divisor * light;
        const float root = (sums.roots + std::sqrt(under_root)) / (2 * divisor);
        const float next = a < least_weight ? 0 : root * root;
        correction[i] = next;
        return next - point[i];
    }
};
template <class AnyWeights>
RoughnessStep(const float*, float*, AnyWeights, float, Roughness) -> RoughnessStep<AnyWeights>;

}  // namespace convolume::deconvolve
