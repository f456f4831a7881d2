// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of batches of rows, which are gathered as the columns of tiles.

#include "cpu/fft/aligned_memory.hpp"
#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/tile_moves.hpp"
#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

/// A step between real and complex transforms with its table.
template <class Real>
class RealStepTable {
  public:
    /// `length` is the number of real samples, an even number.
    explicit RealStepTable(index_t length);

    RealStep<Real> step(bool inverse) const { return {half_, twiddles_.data(), inverse}; }

  private:
    index_t half_;
    AlignedTable<Real> twiddles_;
};

template <class Real>
class RowBatchFft {
  public:
    RowBatchFft(index_t length, TransformKind kind);

    /// Returns the real numbers of scratch memory that a transform needs.
    static index_t scratch_reals(index_t length, TransformKind kind);
    index_t scratch_reals() const { return scratch_reals(length_, kind_); }

    /// Transforms rows without normalization. Rows of the source may be those of the target.
    void run(const RowSet<Real>& rows, Real* scratch) const;

  private:
    void run_rows(const RowSet<Real>& rows, index_t width, Real* scratch) const;
    void run_real_pairs(const RowSet<Real>& rows, Real* scratch) const;
    void transform(Real* tile, index_t width, Real* scratch) const;

    index_t tile_rows() const { return columns_length_ + 1; }

    index_t length_;
    TransformKind kind_;
    bool
        pairs_;  // two rows of an odd number of real samples are transformed as one of complex ones
    index_t columns_length_;
    ColumnFft<Real> columns_;
    RealStepTable<Real> real_step_;
};

}  // namespace convolume::cpu
