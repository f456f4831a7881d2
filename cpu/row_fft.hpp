// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of neighboring real rows side by side: rows are turned into columns and
// transformed as those (column_fft.hpp), neighbors of a row as the real and imaginary part of one
// sample, from which the spectrum is put together (W. H. Press et al., Numerical Recipes, 3rd ed.,
// section 12.3.2). Like transforms of columns they need no planning.

#include <complex>
#include <vector>

#include "cpu/column_fft.hpp"

namespace convolume::cpu {

class RowFft {
  public:
    using Complex = std::complex<float>;

    /// Rows of a transform, at most.
    static constexpr index_t most_rows = ColumnFft<float>::most_columns;

    /// Throws InvalidArgument where `length` is not even and positive, or has a prime factor
    /// above 7.
    explicit RowFft(index_t length);

    /// Complex samples of scratch memory that a transform needs, aligned as Buffer aligns.
    static index_t scratch_samples(index_t length);

    // Row r is at samples + r * distance, its spectrum of length / 2 + 1 samples at spectra + r *
    // pitch. Both are written and read up to the next even number of complex samples.

    /// X[k] = Σ_n x[n] e^{-2πi nk/length} of `rows` rows.
    void forward(const float* samples, index_t distance, index_t rows, Complex* spectra,
                 index_t pitch, Complex* scratch) const;
    /// x[n] = Σ_k X[k] e^{+2πi nk/length}, not normalized.
    void inverse(const Complex* spectra, index_t pitch, index_t rows, float* samples,
                 index_t distance, Complex* scratch) const;

  private:
    index_t half_;
    ColumnFft<float> columns_;
    std::vector<float> turns_;  // i e^{2πi k/length} of k = 0 … half / 2
};

}  // namespace convolume::cpu
