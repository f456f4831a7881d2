// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms in one dimension, without planning: all that the CPU's engines need.

#include <complex>
#include <memory>

#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

/// Makes tables for a set of transforms, which several threads may execute at once. Scratch memory
/// of up to 4 MiB belongs to the thread and is freed when it ends, more belongs to the set.
template <class Real>
class OwnFft {
  public:
    using Complex = std::complex<Real>;

    /// Returns whether the length has no prime factor above 13.
    static bool takes(index_t length);

    /// Throws InvalidArgument if `transforms` has a length that is not taken, or no transforms.
    OwnFft(const TransformBatch& transforms, TransformKind kind);
    ~OwnFft();
    OwnFft(OwnFft&& other) noexcept;
    OwnFft& operator=(OwnFft&& other) noexcept;

    // Arrays need no alignment. Results may replace their input, if strides and distances agree,
    // and inputs are kept otherwise. Each function is for its kinds of transforms only.

    void execute(const Complex* in, Complex* out) const;
    void execute(const Real* in, Complex* out) const;
    void execute(const Complex* in, Real* out) const;

  private:
    class Transforms;
    std::unique_ptr<const Transforms> transforms_;
};

}  // namespace convolume::cpu
