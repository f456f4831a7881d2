// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Fourier transforms of a block on one device, as passes over its memory. Each pass reads its
// samples once and writes them once; transforms live in registers and shared memory. Zero padding,
// cropping, boundaries and pixel types are part of the passes along x, so that padded images never
// exist. All calls enqueue work on the CUDA stream `stream` of the current device, and throw as
// check() does. The first call of a length on a device uploads its twiddle factors and waits for
// that.

#include <cuda_runtime_api.h>

#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// Whether this device has passes of this length along y and z (columns) or along x (rows). Its
/// shared memory decides; before compute capability 8 there are none. Real rows are `length` real
/// samples long.
template <class Real>
bool has_column_pass(index_t length, int device);
template <class Real>
bool has_row_pass(index_t length, bool complex_rows, int device);

/// Whether passes are compiled for columns of `length` samples, and for rows of `length` complex
/// samples (or twice as many real ones).
bool is_pass_length(index_t length, bool double_precision = false);

/// Returns the length with a column (row) pass that is at least `least` and costs least, by its own
/// measured or estimated cost. Returns 0 if there is none. There are fewer lengths in double
/// precision.
index_t good_column_length(index_t least, bool double_precision = false);
index_t good_row_length(index_t least, bool complex_rows, bool double_precision = false);

/// Transforms once, with `length`, along the slots of every column and batch. Source and target may
/// be the same memory if their columns are the same (a thread block reads its columns before it
/// writes).
template <class Real>
void transform_columns(index_t length, PassDirection direction, const Columns<Real>& source,
                       const PositionMap& load, const Columns<Real>& target,
                       const PositionMap& store, cudaStream_t stream);

/// Transforms columns, multiplies with the kernel's spectrum, and transforms back, in place and in
/// one pass.
template <class Real>
void convolve_columns(index_t length, const Columns<Real>& data, const PositionMap& load,
                      const PositionMap& store, const ColumnKernel<Real>& kernel,
                      cudaStream_t stream);

/// Convolves columns, in place and in one pass, with a kernel that varies along them, or projects
/// back by the adjoint.
void convolve_varying_columns(index_t length, const Columns<float>& data, const PositionMap& load,
                              const PositionMap& store, const VaryingColumnKernel<float>& kernel,
                              cudaStream_t stream);

/// Transforms rows 0 … loaded_y-1 of the planes of `source` along x into `target`. Real rows of an
/// even length become half spectra of `length`/2+1 samples.
template <class Real>
void forward_rows(index_t length, bool complex_rows, const RowSource& source,
                  const SpectrumPlanes<Real>& target, cudaStream_t stream);

/// Transforms rows kept_begin_y … of the planes back; the spectrum is not changed. Every value is
/// multiplied by `scale` first.
template <class Real>
void inverse_rows(index_t length, bool complex_rows, const SpectrumPlanes<Real>& source,
                  const RowTarget& target, double scale, cudaStream_t stream);

}  // namespace convolume::gpu
