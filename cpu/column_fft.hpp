// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of neighboring columns side by side, a column in each lane of the vectors.
// They need no planning to be fast, and no copy of the columns: the first pass reads them where
// they lie, the last one writes them where they go.
//
// The passes are Stockham's: each reads one tile of scratch and writes another, and the results
// come out in natural order (C. Van Loan, Computational Frameworks for the FFT, 1992, section 1.7).

#include <complex>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cpu {

template <class Real>
class ColumnFft {
  public:
    using Complex = std::complex<Real>;

    /// Columns of a transform, at most, and what their number must be a multiple of.
    static constexpr index_t most_columns = 16;
    static constexpr index_t column_multiple = 8;

    /// Throws InvalidArgument where `length` is not positive or has a prime factor above 7.
    explicit ColumnFft(index_t length);

    /// Complex samples of scratch memory that a transform needs, aligned as Buffer aligns.
    static index_t scratch_samples(index_t length) { return 2 * length * most_columns; }

    /// Where the samples of columns lie: sample first + n of column c is data[n * stride + c],
    /// n < count. All others count as zeros and are not read.
    struct Source {
        const Complex* data;
        index_t stride;
        index_t count;
        index_t first = 0;
    };
    /// Where samples go: sample first + n of column c to data[n * stride + c], n < count.
    struct Target {
        Complex* data;
        index_t stride;
        index_t first;
        index_t count;
    };

    /// X[k] = Σ_n x[n] e^{-2πi nk/length} of `columns` columns, 8 or 16. Source and target may be
    /// the same.
    void forward(const Source& source, const Target& target, index_t columns,
                 Complex* scratch) const;
    /// x[n] = Σ_k X[k] e^{+2πi nk/length}, not normalized.
    void inverse(const Source& source, const Target& target, index_t columns,
                 Complex* scratch) const;

  private:
    void transform(bool inverse, const Source& source, const Target& target, index_t columns,
                   Complex* scratch) const;

    index_t length_;
    std::vector<int> radices_;    // of the passes
    std::vector<Real> twiddles_;  // (cos, sin) of each pass, p and k, as the passes read them
};

}  // namespace convolume::cpu
