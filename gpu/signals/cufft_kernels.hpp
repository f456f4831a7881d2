// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on segments and their spectra between cuFFT's transforms. Rows are segments, one
// after another.

#include <cuda_runtime_api.h>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::gpu {

/// Which samples of a source become which rows.
struct RowCut {
    index_t first = 0, available = 0;  ///< samples that the source has
    index_t begin = 0, hop = 0;        ///< sample at which a row begins: begin + row · hop
    index_t used = 0;                  ///< samples of a row that are taken
    index_t rows = 1, pitch = 1;
};
/// target[row·pitch + x] = source[row·hop + begin + x - first] for x < used, as a number of type
/// Target; 0 where x >= used or the source, samples first … first+available-1, has none.
template <class Source, class Target>
void cut_rows(const Source* source, const RowCut& cut, Target* target, cudaStream_t stream);

/// target[i] = scale · source[i], rounded to target's precision.
template <class Real>
void scale_spectra(const Complex<double>* source, double scale, Complex<Real>* target,
                   index_t count, cudaStream_t stream);

/// Spectra of signal segments first … first+count-1; the others are zero.
template <class Real>
struct SignalSpectra {
    const Complex<Real>* data = nullptr;
    index_t first = 0, count = 0;
};
/// sums[k][b] = Σ_j signal[k + partitions - 1 - j][b] · filter[j][b] for k < outputs, b < bins.
template <class Real>
void sum_products(const SignalSpectra<Real>& signal, const Complex<Real>* filter, index_t bins,
                  index_t partitions, index_t outputs, Complex<Real>* sums, cudaStream_t stream);

/// Rows of results: `count` in all, `hop` of each row from `skip` on. `before` results come before
/// them in their range.
struct RowResults {
    index_t hop = 1, skip = 0, pitch = 1, count = 0, before = 0;
    bool power = false;
    WindowPost window{};
};
/// Stores what the windows leave of them: target and positions are those of the whole range, whose
/// first result is `begin`. Values are Real or Complex<Real>; peaks are of real ones or of powers.
template <class Real, class Value>
void store_rows(const Value* rows, const RowResults& results, void* target, index_t* positions,
                index_t begin, cudaStream_t stream);

}  // namespace convolume::gpu
