// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that passes work on, free of CUDA so that CUDA kernels can also run on the host.
//
// Spectra are planes of `rows` × `pitch` complex samples; pitch is a multiple of tile_columns, and
// the samples beyond a row's own ride along: they may hold anything.

#include <complex>
#include <cstdint>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"

namespace convolume::gpu {

using convolume::PairAxis;
using convolume::PositionMap;
using Range = IndexRange;

/// Columns that a block transforms side by side: 128 bytes of a row.
template <class Real>
inline constexpr index_t tile_columns = 128 / (2 * sizeof(Real));

/// Columns in memory: sample (slot, batch, column) is data[slot * slot_stride + batch *
/// batch_stride + column], 0 <= column < columns. Columns and strides are multiples of
/// tile_columns, and data is aligned to 16 bytes.
template <class Real>
struct Columns {
    std::complex<Real>* data = nullptr;
    index_t slot_stride = 0;
    index_t columns = 0;
    index_t batches = 1;
    index_t batch_stride = 0;
};

/// The factors of columns between their transforms: spectra, sample (frequency, column) of
/// which is in slot `frequency`; or, with `taps`, samples 0 … taps-1 along the columns, which a
/// pass transforms on its way: less memory for more work.
template <class Real>
struct ColumnKernel {
    Columns<Real> columns;  ///< one batch
    index_t taps = 0;       ///< 0: spectra
    bool conjugate = false;
};

/// Whether passes transform kernels: in double precision, registers do not hold two spectra.
template <class Real>
inline constexpr bool transforms_kernels = sizeof(Real) == sizeof(float);

enum class PassDirection { forward, inverse };  // e^{-2πi}, e^{+2πi}; neither is normalized

/// Rows of pixels on the device, the source or target of the passes along x. All strides are in
/// elements of `type`.
struct PixelRows {
    void* data = nullptr;
    PixelType type = PixelType::float32;
    index_t plane_stride = 0;
    index_t row_stride = 0;  ///< elements of a row follow each other

    PixelRows from_plane(index_t plane) const {
        PixelRows rows = *this;
        rows.data =
            static_cast<char*>(data) + plane * plane_stride * static_cast<index_t>(size_of(type));
        return rows;
    }
};

/// Rows of `planes` planes to load: row y of the transform reads source row gather_y[y] (y itself
/// where gather_y is null), sample x reads element gather_x[x] (x itself where null). An index of
/// -1 reads zero, and so do samples from loaded_x on. Indices are on the device.
struct RowSource {
    PixelRows pixels;
    index_t planes = 1;
    index_t loaded_y = 1;
    index_t loaded_x = 1;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
    double subtract = 0;  ///< from (real parts of) samples that are not gathered as zero
    bool nonfinite_to_zero =
        false;  ///< applied before subtracting: such samples then read -subtract
};

/// Where rows go: sample kept_begin_x + x of row kept_begin_y + y of the transform is stored at (y,
/// x) of `pixels`, for y < kept_y and x < kept_x, plus `add`, rounded half to even and clamped for
/// integer types. Clamped samples are added to clamped[0] (low, NaN too) and clamped[1] (high).
struct RowTarget {
    PixelRows pixels;
    index_t planes = 1;
    index_t kept_begin_y = 0, kept_y = 1;
    index_t kept_begin_x = 0, kept_x = 1;
    double add_real = 0, add_imaginary = 0;
    unsigned long long* clamped = nullptr;  ///< two counters on the device
};

/// Planes of half (or, of complex data, full) spectra: sample (plane, y, k) is data[((first_plane +
/// plane) mod ring) * plane_stride + y * pitch + k].
template <class Real>
struct SpectrumPlanes {
    std::complex<Real>* data = nullptr;
    index_t plane_stride = 0;
    index_t pitch = 0;
    index_t first_plane = 0;
    index_t ring = 1;
};

}  // namespace convolume::gpu
