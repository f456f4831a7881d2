// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of neighboring real rows, of which as many are transformed at once as vectors
// have lanes. They need no planning.

#include <complex>

#include "cpu/fft/row_batch_fft.hpp"

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
    // pitch.

    /// Transforms `rows` rows.
    ///     X[k] = Σ_n x[n] e^{-2πi nk/length}
    void forward(const float* samples, index_t distance, index_t rows, Complex* spectra,
                 index_t pitch, Complex* scratch) const;
    /// Transforms back, without normalization.
    ///     x[n] = Σ_k X[k] e^{+2πi nk/length}
    void inverse(const Complex* spectra, index_t pitch, index_t rows, float* samples,
                 index_t distance, Complex* scratch) const;

  private:
    RowBatchFft<float> forward_, inverse_;
};

}  // namespace convolume::cpu
