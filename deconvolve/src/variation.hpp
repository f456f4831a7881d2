#pragma once
// Total variation TV(x) = Σ √(Σ_a d_a² + ε²), d_a the forward difference along axis a divided by
// the spacing, 0 at the far end; and its derivative.

#include <cmath>

#include "convolume/shape.hpp"
#include "on_device.hpp"

namespace convolume::deconvolve {

struct Variation {
    index_t extent[3] = {1, 1, 1};  ///< z, y, x
    float per_step[3] = {1, 1, 1};  ///< 1 / spacing
    float smallest = 1e-6F;         ///< ε: keeps the root differentiable

    struct Position {
        index_t along[3];
    };

    CONVOLUME_HOST_DEVICE Position position(index_t i) const {
        const index_t row = i / extent[2];
        return {{row / extent[1], row % extent[1], i % extent[2]}};
    }
    CONVOLUME_HOST_DEVICE index_t stride(int axis) const {
        return axis == 0 ? extent[1] * extent[2] : axis == 1 ? extent[2] : 1;
    }
    CONVOLUME_HOST_DEVICE float difference(const float* x, index_t i, const Position& at,
                                           int axis) const {
        if (at.along[axis] + 1 == extent[axis]) return 0;
        return (x[i + stride(axis)] - x[i]) * per_step[axis];
    }
    CONVOLUME_HOST_DEVICE float magnitude(const float* x, index_t i, const Position& at) const {
        float sum = smallest * smallest;
        for (int axis = 0; axis < 3; ++axis) {
            const float d = difference(x, i, at, axis);
            sum += d * d;
        }
        return std::sqrt(sum);
    }
    /// ∂TV / ∂x_i, from -6 to 6 for spacings of 1.
    CONVOLUME_HOST_DEVICE float derivative(const float* x, index_t i) const {
        const Position at = position(i);
        const float here = magnitude(x, i, at);
        float sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            sum -= per_step[axis] * difference(x, i, at, axis) / here;
            if (at.along[axis] == 0) continue;
            Position before = at;
            --before.along[axis];
            const index_t j = i - stride(axis);
            sum += per_step[axis] * difference(x, j, before, axis) / magnitude(x, j, before);
        }
        return sum;
    }
};

}  // namespace convolume::deconvolve
