// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/row_fft.hpp"

#include "convolume/error.hpp"

namespace convolume::cpu {

namespace {

index_t even(index_t length) {
    if (length < 2 || length % 2 != 0)
        throw InvalidArgument(message("no transform of real rows of ", length,
                                      " samples: lengths are even and positive"));
    return length;
}

}  // namespace

index_t RowFft::scratch_samples(index_t length) {
    return ceil_div(RowBatchFft<float>::scratch_reals(length, TransformKind::real_forward),
                    index_t{2});
}

RowFft::RowFft(index_t length)
    : forward_(even(length), TransformKind::real_forward),
      inverse_(length, TransformKind::real_inverse) {}

void RowFft::forward(const float* samples, index_t distance, index_t rows, Complex* spectra,
                     index_t pitch, Complex* scratch) const {
    forward_.run({samples, distance, reinterpret_cast<float*>(spectra), 2 * pitch, rows},
                 reinterpret_cast<float*>(scratch));
}

void RowFft::inverse(const Complex* spectra, index_t pitch, index_t rows, float* samples,
                     index_t distance, Complex* scratch) const {
    inverse_.run({reinterpret_cast<const float*>(spectra), 2 * pitch, samples, distance, rows},
                 reinterpret_cast<float*>(scratch));
}

}  // namespace convolume::cpu
