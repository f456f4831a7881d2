// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel over rows is told.

#include <algorithm>
#include <cstdint>

#include "convolume/error.hpp"
#include "gpu/fft/pass_types.hpp"
#include "gpu/fft/pixel.hpp"

namespace convolume::gpu {

template <class Real>
struct RowJob {
    bool inverse = false;
    bool complex_rows = false;
    bool direct_load = false,
         direct_store = false;  ///< past shared memory, where both sides lie as the kernel has them
    index_t planes = 1, rows = 1;  ///< rows of a plane
    PixelRows pixels;
    // Forward.
    index_t loaded_x = 1;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
    LoadRule<Real> rule;
    // Inverse.
    index_t kept_begin_y = 0, kept_begin_x = 0, kept_x = 1;
    Complex<Real> add{0, 0};
    Real scale = 1;
    unsigned long long* clamped = nullptr;
    // The spectrum.
    Complex<Real>* spectrum = nullptr;
    index_t plane_stride = 0, pitch = 0, first_plane = 0, ring = 1;  // first_plane < ring
    /// Of the plan, followed by the twiddle factors of pairs (twiddles.hpp).
    const Complex<Real>* twiddles = nullptr;
};

/// Whether rows of pixels can be read and written as the kernel's own complex samples.
template <class Real>
bool natural(const PixelRows& pixels, bool complex_rows) {
    if (complex_rows) {
        if (pixels.type != pixel_type_of_v<std::complex<Real>>) return false;
    } else if (pixels.type != pixel_type_of_v<Real> || pixels.row_stride % 2 != 0 ||
               pixels.plane_stride % 2 != 0) {
        return false;
    }
    return reinterpret_cast<std::uintptr_t>(pixels.data) % sizeof(std::complex<Real>) == 0;
}

template <class Real>
RowJob<Real> row_job(bool complex_rows, const PixelRows& pixels, index_t planes,
                     const SpectrumPlanes<Real>& spectrum) {
    if (!complex_rows && is_complex(pixels.type)) {
        throw InternalError("complex pixels in real rows");
    }
    if (planes > spectrum.ring) {
        throw InternalError(message(planes, " planes in a ring of ", spectrum.ring));
    }
    RowJob<Real> job;
    job.complex_rows = complex_rows;
    job.planes = planes;
    job.pixels = pixels;
    job.spectrum = reinterpret_cast<Complex<Real>*>(spectrum.data);
    job.plane_stride = spectrum.plane_stride;
    job.pitch = spectrum.pitch;
    job.first_plane = spectrum.first_plane % spectrum.ring;
    job.ring = spectrum.ring;
    return job;
}

/// The job of forward_rows (passes.hpp), less its tables.
template <class Real>
RowJob<Real> forward_job(index_t length, bool complex_rows, const RowSource& source,
                         const SpectrumPlanes<Real>& target) {
    auto job = row_job(complex_rows, source.pixels, source.planes, target);
    job.rows = source.loaded_y;
    job.loaded_x = std::min(source.loaded_x, length);
    job.gather_y = source.gather_y;
    job.gather_x = source.gather_x;
    job.rule = {static_cast<Real>(source.subtract), source.nonfinite_to_zero};
    job.direct_load = natural<Real>(source.pixels, complex_rows) && source.gather_x == nullptr &&
                      source.subtract == 0 && !source.nonfinite_to_zero &&
                      (complex_rows || job.loaded_x % 2 == 0);
    job.direct_store = complex_rows;
    return job;
}

/// The job of inverse_rows, less its tables.
template <class Real>
RowJob<Real> inverse_job(index_t length, bool complex_rows, const SpectrumPlanes<Real>& source,
                         const RowTarget& target, double scale) {
    if (target.kept_begin_x < 0 || target.kept_begin_x + target.kept_x > length) {
        throw InternalError(message("samples ", target.kept_begin_x, " to ",
                                    target.kept_begin_x + target.kept_x, " of rows of ", length));
    }
    if (complex_rows && !is_complex(target.pixels.type)) {
        throw InternalError("real pixels for complex rows");
    }
    auto job = row_job(complex_rows, target.pixels, target.planes, source);
    job.inverse = true;
    job.rows = target.kept_y;
    job.kept_begin_y = target.kept_begin_y;
    job.kept_begin_x = target.kept_begin_x;
    job.kept_x = target.kept_x;
    job.add = {static_cast<Real>(target.add_real),
               static_cast<Real>(complex_rows ? target.add_imaginary : target.add_real)};
    job.scale = static_cast<Real>(scale);
    job.clamped = target.clamped;
    job.direct_load = complex_rows;
    job.direct_store = natural<Real>(target.pixels, complex_rows) &&
                       (complex_rows || (target.kept_begin_x % 2 == 0 && target.kept_x % 2 == 0));
    return job;
}

}  // namespace convolume::gpu
