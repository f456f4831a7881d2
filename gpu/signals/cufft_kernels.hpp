// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA kernels that work on segments and spectra between cuFFT's transforms. Rows are segments, one
// after another.

#include <cuda_runtime_api.h>

#include "convolume/cuda/detail/stored_samples.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::gpu {

/// Division of a source's samples into rows, which may overlap.
struct RowCut {
    index_t first = 0, available = 0;  ///< the source has samples first … first+available-1
    index_t begin = 0, hop = 0;        ///< a row begins at sample begin + row · hop
    index_t used = 0;                  ///< samples of a row that are copied
    index_t rows = 1, pitch = 1;
};
/// Copies samples to rows, as numbers of type Target.
///     target[row·pitch + x] = source[row·hop + begin + x - first] for x < used
/// Other elements of a row, and samples that the source lacks, are 0.
template <class Source, class Target>
void cut_rows(const Source* source, const RowCut& cut, Target* target, cudaStream_t stream);
/// Copies samples of 16 bits to rows, as cut_rows() does others. Target is float or Complex<float>.
template <class Target>
void cut_short_rows(const SampleWord* source, SampleStorage storage, const RowCut& cut,
                    Target* target, cudaStream_t stream);

/// Computes target[i] = scale · source[i], rounded to target's precision.
template <class Real>
void scale_spectra(const Complex<double>* source, double scale, Complex<Real>* target,
                   index_t count, cudaStream_t stream);

/// Spectra of signal segments first … first+count-1; all others are zero.
template <class Real>
struct SignalSpectra {
    const Complex<Real>* data = nullptr;
    index_t first = 0, count = 0;
};
/// Sums products of spectra for k < outputs, b < bins.
///     sums[k][b] = Σ_j signal[k + partitions - 1 - j][b] · filter[j][b]
template <class Real>
void sum_products(const SignalSpectra<Real>& signal, const Complex<Real>* filter, index_t bins,
                  index_t partitions, index_t outputs, Complex<Real>* sums, cudaStream_t stream);

/// Results in rows: `count` in all, `hop` of each row from position `skip` on. They follow `before`
/// other results of their range.
struct RowResults {
    index_t hop = 1, skip = 0, pitch = 1, count = 0, before = 0;
    bool power = false;
    WindowPost window{};
};
/// Selects results by windows and stores them. `target` and `positions` are those of the whole
/// range, whose first result is `begin`. Values are Real or Complex<Real>; peaks need real values
/// or powers.
template <class Real, class Value>
void store_rows(const Value* rows, const RowResults& results, void* target, index_t* positions,
                index_t begin, cudaStream_t stream);
/// Stores results in 16 bits, as store_rows() does others, without peaks. Value is float or
/// Complex<float>.
template <class Value>
void store_short_rows(const Value* rows, const RowResults& results, const StorageJob& storage,
                      void* target, cudaStream_t stream);

}  // namespace convolume::gpu
