// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of neighboring columns, one column in each lane of the vectors. They are fast
// without planning and without a copy of the columns: the first radix stage reads from the source,
// and the last one writes to the target.
//
// The algorithm is Stockham's: each radix stage reads one half of scratch memory and writes the
// other, and results are in natural order (C. Van Loan, Computational Frameworks for the FFT, 1992,
// section 1.7).

#include <complex>
#include <vector>

#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

/// Lines: rows of `columns` · length complex samples. Each is a matrix of `columns` rows, whose
/// columns are transformed and multiplied by twiddle factors first. Its transposed matrix is a
/// tile.
template <class Real>
struct LineSet {
    RowSet<Real> rows;
    /// Factors e^{-2πi jk/(columns · length)} of sample k > 0 of column j: for columns in the order
    /// of line_columns.hpp, for each k the real parts and the imaginary parts.
    const Real* twiddles;
};

/// A transform of neighboring columns. Its source and its target are columns in memory, or a tile:
/// the real parts of the first samples of all columns, then their imaginary parts, then the second
/// samples. Tiles are aligned like a Buffer. Strides are in real numbers.
template <class Real>
struct ColumnTransform {
    Real* source_tile = nullptr;  ///< read instead of `source` if given, and overwritten
    const Real* source = nullptr;
    index_t source_stride = 0, source_first = 0, source_count = 0;
    Real* target_tile = nullptr;  ///< written instead of `target` if given
    Real* target = nullptr;
    index_t target_stride = 0, target_first = 0, target_count = 0;
    const Real* factors = nullptr;         ///< tile that results are multiplied by before they are
                                           ///< written to target_tile
    const Real* row_factors = nullptr;     ///< another complex factor for each row of `factors`
    const LineSet<Real>* lines = nullptr;  ///< source and target instead of columns and tiles
    index_t columns = 0;                   ///< 8 or 16
    bool inverse = false;                  ///< conjugates what is read from and written to columns
};

template <class Real>
class ColumnFft {
  public:
    using Complex = std::complex<Real>;

    /// Largest number of columns of a transform, and the number that it must be a multiple of.
    static constexpr index_t most_columns = 16;
    static constexpr index_t column_multiple = 8;

    /// Throws InvalidArgument if `length` is not positive or has a prime factor above 13.
    explicit ColumnFft(index_t length);

    /// Returns whether there are transforms of this length.
    static bool takes(index_t length);

    /// Returns the complex samples of scratch memory that a transform needs, aligned like a Buffer.
    static index_t scratch_samples(index_t length) { return 2 * length * most_columns; }

    /// Returns the number of columns of lines that are transformed at once.
    static index_t line_lanes(index_t width);

    /// Columns to read: sample first + n of column c is data[n * stride + c], n < count. All other
    /// samples count as zeros and are not read.
    struct InputColumns {
        const Complex* data;
        index_t stride;
        index_t count;
        index_t first = 0;
    };
    /// Columns to write: sample first + n of column c is stored in data[n * stride + c], n < count.
    /// No other samples are stored.
    struct OutputColumns {
        Complex* data;
        index_t stride;
        index_t first;
        index_t count;
    };

    /// Transforms `columns` columns, 8 or 16. Source and target may be equal.
    ///     X[k] = Σ_n x[n] e^{-2πi nk/length}
    void forward(const InputColumns& source, const OutputColumns& target, index_t columns,
                 Complex* scratch) const;
    /// Transforms back, without normalization.
    ///     x[n] = Σ_k X[k] e^{+2πi nk/length}
    void inverse(const InputColumns& source, const OutputColumns& target, index_t columns,
                 Complex* scratch) const;

    /// Transforms between columns and tiles, or lines. `scratch` holds 2 · length · columns real
    /// numbers if the source is a tile, else twice as many.
    void run(const ColumnTransform<Real>& transform, Real* scratch) const;

  private:
    void transform(bool inverse, const InputColumns& source, const OutputColumns& target,
                   index_t columns, Complex* scratch) const;

    index_t length_;
    std::vector<int> radices_;    // radices of the stages
    std::vector<Real> twiddles_;  // (cos, sin) for each stage, p and k, in the order of use
};

}  // namespace convolume::cpu
