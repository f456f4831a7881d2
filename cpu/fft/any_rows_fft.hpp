// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of any number of rows: one by one or in batches, whichever is predicted to be
// faster.

#include <optional>

#include "cpu/fft/line_fft.hpp"
#include "cpu/fft/row_batch_fft.hpp"

namespace convolume::cpu {

template <class Real>
class AnyRowsFft {
  public:
    /// `most_rows` is the largest number of rows that run() is called with.
    AnyRowsFft(index_t length, TransformKind kind, index_t most_rows);

    /// Returns the real numbers of scratch memory that a transform needs.
    index_t scratch_reals() const;

    /// Transforms rows without normalization. Rows of the source may be those of the target.
    void run(const RowSet<Real>& rows, Real* scratch) const;

  private:
    void run_line(const Real* source, Real* target, Real* scratch) const;

    index_t length_;
    TransformKind kind_;
    index_t line_length_;  // complex samples of a line
    index_t least_in_batch_;
    std::optional<LineFft<Real>> line_;
    std::optional<RowBatchFft<Real>> batch_;
    RealStepTable<Real> real_step_;
};

}  // namespace convolume::cpu
