// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms that are computed in steps of bounded length, so that a caller can spread one
// transform over time. Stages of radix 4 split a transform into rows of at most 4096 samples.

#include <complex>
#include <vector>

#include "cpu/fft/aligned_memory.hpp"
#include "cpu/fft/any_rows_fft.hpp"

namespace convolume::cpu {

/// One complex transform of a length without prime factors above 13. Spectra are in an order of
/// their own, which is that of all transforms of this length. Transforms are not normalized.
template <class Real>
class SteppedFft {
  public:
    using Complex = std::complex<Real>;

    explicit SteppedFft(index_t length);

    index_t length() const { return length_; }
    index_t row_length() const { return row_length_; }  ///< samples that a row step transforms
    index_t row_steps() const { return length_ / row_length_; }
    /// Returns the number of steps that come before the row steps of a forward transform, and after
    /// those of an inverse one.
    index_t radix_steps() const { return static_cast<index_t>(radix_steps_.size()); }
    /// Returns the real numbers of scratch memory that a row step needs.
    index_t scratch_reals() const;

    /// Computes step `step` of radix_steps() of a forward transform of `z`, in place.
    void split(index_t step, Complex* z) const;
    /// Computes step `step` of radix_steps() of an inverse transform of `z`, in place.
    void merge(index_t step, Complex* z) const;
    /// Transforms row `row` of `z` to `to`, which may be the row itself.
    void transform_row(const Complex* row, Complex* to, bool inverse, Real* scratch) const;

  private:
    /// Butterflies of one step.
    struct RadixStep {
        index_t first;  ///< first sample of the group
        index_t quarter;
        index_t begin, end;
        index_t factors;  ///< index of the stage's factors
    };

    index_t length_, row_length_;
    std::vector<RadixStep> radix_steps_;  ///< in the order of a forward transform
    AlignedTable<Complex> factors_;
    AnyRowsFft<Real> forward_, inverse_;
};

}  // namespace convolume::cpu
