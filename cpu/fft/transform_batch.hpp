// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of equal 1D Fourier transforms, as libraries of transforms take them.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// A set of equal 1D transforms: `count` transforms, `distance` apart, of `length` samples that are
/// `stride` apart.
struct TransformBatch {
    index_t length;
    index_t count;
    index_t in_stride;
    index_t in_distance;
    index_t out_stride;
    index_t out_distance;
};

/// Rows in memory. Distances are in real numbers.
template <class Real>
struct RowSet {
    const Real* source;
    index_t source_distance;
    Real* target;
    index_t target_distance;
    index_t count;
};

/// What a set of transforms computes. No transform is normalized.
enum class TransformKind {
    forward,       ///< complex to complex: X[k] = Σ_n x[n] e^{-2πi nk/length}
    inverse,       ///< complex to complex: x[n] = Σ_k X[k] e^{+2πi nk/length}
    real_forward,  ///< real samples to the first length / 2 + 1 bins of their spectrum
    real_inverse   ///< those bins to real samples; may destroy its input
};

constexpr bool is_complex(TransformKind kind) {
    return kind == TransformKind::forward || kind == TransformKind::inverse;
}
constexpr bool is_inverse(TransformKind kind) {
    return kind == TransformKind::inverse || kind == TransformKind::real_inverse;
}

/// Planned transforms. Several threads may execute them at once.
class PlannedTransforms {
  public:
    virtual ~PlannedTransforms() = default;
    /// Transforms arrays of the types of the transforms' kind. May destroy the input.
    virtual void execute(void* in, void* out) const = 0;
};

}  // namespace convolume::cpu
