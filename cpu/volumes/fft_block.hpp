// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of one block by transforms: 2D planes forward, a fused pass along z (forward, times
// the kernel, inverse), 2D planes inverse. Zero planes are neither stored nor transformed, and the
// kernel is kept as the 2D spectra of its own planes: its transform along z is part of the fused
// pass, so that the padded kernel never exists.

#include <algorithm>
#include <complex>
#include <memory>

#include "convolume/volume.hpp"
#include "core/engine.hpp"
#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

struct SpectrumLayout {
    index_t length_x;   ///< samples of a row in space
    index_t half_x;     ///< complex samples of a row's spectrum
    index_t rows;       ///< grid length along y
    index_t planes;     ///< grid length along z
    index_t row_batch;  ///< rows transformed at once: divides `rows`
    index_t pitch;      ///< columns, a multiple of what a transform of columns takes
    index_t plane;      ///< complex samples from one plane to the next

    /// Width of the tiles of the pass along z, in complex samples: two cache lines in float.
    static constexpr index_t z_tile = 16;
    /// Columns along y that are transformed at once; the last ones of a plane may be half as many.
    static constexpr index_t column_batch = 16;

    SpectrumLayout(const Shape3& grid, bool complex_data)
        : length_x(grid.x),
          half_x(complex_data ? grid.x : grid.x / 2 + 1),
          rows(grid.y),
          planes(grid.z) {
        row_batch = 1;
        for (index_t batch = 2; batch <= std::min<index_t>(16, rows); ++batch)
            if (rows % batch == 0) row_batch = batch;
        pitch = round_up(half_x, column_batch / 2);
        plane = round_up(rows * pitch, z_tile);
    }
};

/// Bytes of the scratch memory that a thread needs.
index_t fft_scratch_bytes(const SpectrumLayout& layout, Precision precision, bool complex_data);

/// Memory of one plane of spectra and of one thread's scratch: planning overwrites it.
template <class Real>
struct PlanningMemory {
    std::complex<Real>* plane;
    void* scratch;
};

/// Each thread's own memory.
struct ThreadScratch {
    char* data;
    index_t bytes;
    void* of(int thread) const { return data + thread * bytes; }
};

/// The plans of the transforms of a grid, which several kernels share.
template <class Real>
class ImprovingFft;

/// `expected_s`: what one use is predicted to take; plans of long ones are measured at once.
template <class Real>
std::shared_ptr<ImprovingFft<Real>> make_fft(const Shape3& grid, bool complex_data,
                                             double expected_s, const PlanningMemory<Real>& memory);

/// A kernel kept as 2D spectra. `taps` are the block's own: of its part, real or complex as the
/// block's data.
template <class Real>
std::shared_ptr<const Kernel> make_fft_kernel(std::shared_ptr<ImprovingFft<Real>> fft,
                                              const Volume& taps, int threads,
                                              const ThreadScratch& scratch);

}  // namespace convolume::cpu
