// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of one block by FFTs in three passes. Planes are transformed in 2D. A fused pass
// along z transforms columns, multiplies them with the kernel and transforms them back. Planes are
// then transformed back. Zero planes are neither stored nor transformed. The kernel is kept as 2D
// spectra of its planes, which the fused pass transforms along z, so that it is never padded. With
// a kernel of one plane there is no pass along z: each plane is transformed, multiplied and
// transformed back while it is in the cache.

#include <algorithm>
#include <complex>
#include <memory>

#include "convolume/engines.hpp"
#include "core/engine.hpp"
#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

/// Layout of the 2D spectra of planes in memory.
struct SpectrumLayout {
    index_t length_x;   ///< samples of a row in space
    index_t half_x;     ///< complex samples of the spectrum of a row
    index_t rows;       ///< grid length along y
    index_t planes;     ///< grid length along z
    index_t row_batch;  ///< rows that are transformed at once, a divisor of `rows`
    index_t pitch;      ///< complex samples from one row of a spectrum to the next
    index_t plane;      ///< complex samples from one plane to the next

    /// Columns along z that are transformed at once: two cache lines in float.
    static constexpr index_t z_batch = 16;
    /// Columns along y that are transformed at once. The last batch of a plane may have half of it.
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
        plane = round_up(rows * pitch, z_batch);
    }
};

/// Whether planes are convolved one by one, since the kernel has one plane.
inline bool convolves_planes(const Block& block) {
    return block.axes[0].kernel == 1;
}

/// Returns the bytes of scratch memory that a thread needs.
index_t fft_scratch_bytes(const SpectrumLayout& layout, Precision precision, bool complex_data);

/// Memory that planning overwrites: one plane of spectra, and the scratch memory of one thread.
template <class Real>
struct PlanningMemory {
    std::complex<Real>* plane;
    void* scratch;
};

/// Scratch memory of all threads, with `bytes` for each.
struct ThreadScratch {
    char* data;
    index_t bytes;
    void* of(int thread) const { return data + thread * bytes; }
};

/// The transforms of a block: extents of its grid, and whether its samples are complex.
struct FftGrid {
    Shape3 shape;
    bool complex_data;
};

/// FFT plans of a grid, which several kernels share.
template <class Real>
class ImprovingFft;

/// Plans the transforms of a grid. `expected_s` is the predicted time of one block. FFTW's plans
/// for long blocks are measured at once, others when they have been used for some seconds, unless
/// they `stay`. Other FFT plans round differently.
template <class Real>
std::shared_ptr<ImprovingFft<Real>> make_fft(const FftGrid& grid, FftLibrary library,
                                             double expected_s, bool stay,
                                             const PlanningMemory<Real>& memory);

/// Makes a kernel that is kept as 2D spectra. `taps` are as in Engine::prepare().
template <class Real>
std::shared_ptr<const CpuKernel> make_fft_kernel(std::shared_ptr<ImprovingFft<Real>> fft,
                                                 const ConstImageView& taps, int threads,
                                                 const ThreadScratch& scratch);

}  // namespace convolume::cpu
