// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that passes work on. This header needs no CUDA, so that the bodies of CUDA kernels can
// also run on the host.
//
// Spectra are planes of `rows` × `pitch` complex samples. The pitch is a multiple of tile_columns.
// Samples beyond a row's own may have any value; passes transform them, too.

#include <complex>
#include <cstdint>

#include "convolume/image_view.hpp"
#include "convolume/sample_storage.hpp"
#include "convolume/shape.hpp"
#include "core/pair_axis.hpp"

namespace convolume::gpu {

using convolume::PairAxis;
using convolume::PositionMap;
using Range = IndexRange;

/// Columns of a column tile, which a thread block transforms side by side: 128 bytes of a row.
template <class Real>
inline constexpr index_t tile_columns = 128 / (2 * sizeof(Real));

/// Columns in memory, 0 <= column < columns. Columns and strides are multiples of tile_columns, and
/// data is aligned to 16 bytes. A sample is
///     data[slot * slot_stride + batch * batch_stride + column]
template <class Real>
struct Columns {
    std::complex<Real>* data = nullptr;
    index_t slot_stride = 0;
    index_t columns = 0;
    index_t batches = 1;
    index_t batch_stride = 0;
};

/// The kernel that columns are multiplied with between their transforms. It is given as spectra,
/// with sample (frequency, column) in slot `frequency`. Or it is given as `taps` samples along the
/// columns, which each pass transforms: less memory for more work.
template <class Real>
struct ColumnKernel {
    Columns<Real> columns;  ///< spectra or taps, with the batches of the data
    index_t taps = 0;       ///< number of taps; 0: the kernel is given as spectra
    bool conjugate = false;
};

/// Spectra of kernels for columns whose kernel varies along them (core/plane_weights.hpp). Kernel k
/// and the i-th loaded sample, or with `adjoint` the i-th stored one, have the weight
///     weights[k * weight_stride + i]
template <class Real>
struct VaryingColumnKernel {
    Columns<Real> columns;  ///< spectrum of the first kernel
    index_t kernels = 1;
    index_t kernel_stride = 0;  ///< complex samples between the spectra of kernels
    const float* weights = nullptr;
    index_t weight_stride = 0;
    bool adjoint = false;
};

/// Whether passes transform the taps of kernels. In double precision, registers and shared memory
/// hold too few columns of two spectra.
template <class Real>
inline constexpr bool transforms_kernels = sizeof(Real) == sizeof(float);

enum class PassDirection { forward, inverse };  // exponents -2πi and +2πi; neither is normalized

/// Rows of pixels on the device, the source or target of the passes along x. All strides are in
/// elements of `type`.
struct PixelRows {
    void* data = nullptr;
    PixelType type = PixelType::float32;
    index_t plane_stride = 0;
    index_t row_stride = 0;  ///< stride of rows; elements of a row follow each other
    /// Not plain if pixels are floats of 16 bits. `type` is then that of their bits, uint16.
    SampleStorage storage = SampleStorage::plain;

    PixelRows from_plane(index_t plane) const {
        PixelRows rows = *this;
        rows.data =
            static_cast<char*>(data) + plane * plane_stride * static_cast<index_t>(size_of(type));
        return rows;
    }
};

/// Rows of `planes` planes to load. Row y of the transform reads source row gather_y[y], and sample
/// x element gather_x[x]; a null table stands for y or x itself. An index of -1 reads zero, and so
/// do samples from loaded_x on. Indices are on the device.
struct RowSource {
    PixelRows pixels;
    index_t planes = 1;
    index_t loaded_y = 1;
    index_t loaded_x = 1;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
    /// Number to subtract from real parts, but not from samples that are gathered as zero.
    double subtract = 0;
    /// Whether samples that are not finite count as 0 before the subtraction.
    bool nonfinite_to_zero = false;
};

/// Rows of pixels to store. Sample kept_begin_x + x of row kept_begin_y + y of the transform is
/// stored at (y, x) of `pixels`, for y < kept_y and x < kept_x. `add` is added before; for integer
/// types values are rounded half to even and clamped. Clamped samples are added to clamped[0] (low,
/// NaN too) and clamped[1] (high).
struct RowTarget {
    PixelRows pixels;
    index_t planes = 1;
    index_t kept_begin_y = 0, kept_y = 1;
    index_t kept_begin_x = 0, kept_x = 1;
    double add_real = 0, add_imaginary = 0;
    unsigned long long* clamped = nullptr;  ///< two counters on the device
};

/// Planes of half spectra, or of complex data full spectra. Sample (plane, y, k) is
///     data[((first_plane + plane) mod ring) * plane_stride + y * pitch + k]
template <class Real>
struct SpectrumPlanes {
    std::complex<Real>* data = nullptr;
    index_t plane_stride = 0;
    index_t pitch = 0;
    index_t first_plane = 0;
    index_t ring = 1;
};

}  // namespace convolume::gpu
