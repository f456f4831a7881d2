// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of single rows of complex samples. A row of N1 · N2 samples is a matrix of N1
// rows. Its columns are transformed, many at once, and multiplied by twiddle factors. Then its rows
// are transformed as columns of the transposed matrix (C. Van Loan, Computational Frameworks for
// the FFT, 1992, section 3.3).

#include <algorithm>

#include "cpu/fft/aligned_memory.hpp"
#include "cpu/fft/column_fft.hpp"

namespace convolume::cpu {

/// The factors of a length, and the number of columns that are transformed at once, which is at
/// most either factor.
struct LineFactors {
    index_t column_length = 0;  ///< N1; 0 if the length has no such factors
    index_t row_length = 0;     ///< N2
    index_t width = 0;
    bool is_tile = false;  ///< N1 is `width`, and the transposed matrix is transformed as one tile
    double cost = 0;       ///< predicted time, in units of predicted_column_cost()
};

/// Returns the predicted time of a transform of one column of a tile.
double predicted_column_cost(index_t length, index_t width);

/// Returns how much slower a transform of a tile is than in the nearest cache.
template <class Real>
double cache_factor(index_t length, index_t width);

template <class Real>
class LineFft {
  public:
    /// Returns the factors of a length that are predicted to be fastest.
    static LineFactors factors_of(index_t length);

    explicit LineFft(const LineFactors& factors);

    /// Returns the real numbers of scratch memory that a transform needs.
    index_t scratch_reals() const;

    /// Transforms rows without normalization. Rows of the source may be those of the target.
    void run(const RowSet<Real>& rows, bool inverse, Real* scratch) const;

  private:
    void run_groups(const Real* source, Real* target, bool inverse, Real* scratch) const;
    index_t tile_row() const { return 2 * factors_.width; }  // real numbers of a row of a tile
    index_t column_groups() const { return ceil_div(factors_.row_length, factors_.width); }
    // Groups are of `width` columns, of which the last group may share some with the one before.
    index_t first_of(index_t group, index_t all) const {
        return std::min(group * factors_.width, all - factors_.width);
    }

    LineFactors factors_;
    ColumnFft<Real> columns_, rows_;
    // Twiddle factors e^{-2πi jk/N} of sample k of column j: those of LineSet, or tiles for all
    // groups of columns, or a tile for the first group and a factor for each other group and k.
    AlignedTable<Real> twiddles_, group_twiddles_;
};

}  // namespace convolume::cpu
