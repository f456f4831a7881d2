// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of neighboring real rows. Rows become columns, which are transformed by
// column_fft.hpp. Two neighboring samples of a row are the real and imaginary part of one complex
// sample, and the spectrum is computed from the transform (W. H. Press et al., Numerical Recipes,
// 3rd ed., section 12.3.2). They need no planning.

#include <complex>
#include <vector>

#include "cpu/column_fft.hpp"

namespace convolume::cpu {

class RowFft {
  public:
    using Complex = std::complex<float>;

    /// Largest number of rows of a transform.
    static constexpr index_t most_rows = ColumnFft<float>::most_columns;

    /// Throws InvalidArgument if `length` is not even and positive, or has a prime factor above 13.
    explicit RowFft(index_t length);

    /// Returns the complex samples of scratch memory that a transform needs, aligned like a Buffer.
    static index_t scratch_samples(index_t length);

    // Row r is at samples + r * distance, its spectrum of length / 2 + 1 samples at spectra + r *
    // pitch. Both are read and written up to the next even number of complex samples.

    /// Transforms `rows` rows.
    ///     X[k] = Σ_n x[n] e^{-2πi nk/length}
    void forward(const float* samples, index_t distance, index_t rows, Complex* spectra,
                 index_t pitch, Complex* scratch) const;
    /// Transforms back, without normalization.
    ///     x[n] = Σ_k X[k] e^{+2πi nk/length}
    void inverse(const Complex* spectra, index_t pitch, index_t rows, float* samples,
                 index_t distance, Complex* scratch) const;

  private:
    index_t half_;
    ColumnFft<float> columns_;
    std::vector<float> twiddles_;  // i e^{2πi k/length} for k = 0 … half / 2
};

}  // namespace convolume::cpu
