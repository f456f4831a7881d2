// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of one block by transforms: 2D planes forward, a fused pass along z (forward, times
// the kernel, inverse), 2D planes inverse. Zero planes are neither stored nor transformed, and the
// kernel is kept as the 2D spectra of its own planes: its transform along z is part of the fused
// pass, so that the padded kernel never exists.

#include <algorithm>
#include <complex>
#include <memory>
#include <mutex>

#include "convolume/volume.hpp"
#include "core/engine.hpp"
#include "core/pixels/rows.hpp"
#include "cpu/column_fft.hpp"
#include "cpu/fftw.hpp"
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

template <class Real>
class FftBlock {
  public:
    using Complex = std::complex<Real>;

    /// Memory of one plane of spectra and of one thread's scratch: planning overwrites it.
    struct PlanningMemory {
        Complex* plane;
        void* scratch;
    };
    /// Plans the transforms of `grid`. Immutable afterwards; all other members may run
    /// concurrently.
    FftBlock(const Shape3& grid, bool complex_data, Effort effort, const PlanningMemory& memory);

    const SpectrumLayout& layout() const { return layout_; }

    /// Bytes of the scratch memory that each thread passes to the members below.
    static index_t scratch_bytes(const SpectrumLayout& layout, bool complex_data);

    /// Loads and transforms rows [row_batch * batch, …) of plane `z` of the input along x.
    void forward_rows(const BlockInput& input, const pixels::RowGather& gather, index_t z,
                      index_t batch, Complex* plane, void* scratch) const;
    /// Transforms one batch of columns of a plane along y, in place.
    void transform_columns(bool inverse, Complex* plane, index_t batch, void* scratch) const;
    /// Transforms a batch of rows back and stores those of the `kept` range (y and x).
    ClampCount inverse_rows(Complex* plane, index_t z, index_t batch, const BlockAxis& kept_y,
                            const BlockAxis& kept_x, const BlockOutput& output,
                            void* scratch) const;

    /// The fused pass along z for the columns [z_tile * tile, …): reads `loaded` planes of
    /// `spectrum` and `kernel_planes` of `kernel`, writes planes kept_begin … as planes 0 … kept-1.
    void convolve_columns(Complex* spectrum, const BlockAxis& z_axis, const Complex* kernel,
                          index_t kernel_planes, index_t tile, void* scratch) const;

    index_t row_batches() const { return layout_.rows / layout_.row_batch; }
    index_t column_batches() const { return ceil_div(layout_.pitch, SpectrumLayout::column_batch); }
    index_t z_tiles() const { return layout_.plane / SpectrumLayout::z_tile; }

  private:
    /// Whether any row of the batch holds data.
    template <class Sample>
    bool load_batch(const BlockInput& input, const pixels::RowGather& gather, index_t z,
                    index_t first_row, Sample* rows) const;

    SpectrumLayout layout_;
    bool complex_data_;
    FftPlan<Real> rows_forward_, rows_inverse_;
    ColumnFft<Real> columns_, z_;
};

/// Transforms that pay for better plans as they go: estimated at first, so that a first execution
/// does not wait, measured once the time spent in them shows that measuring will pay.
template <class Real>
class ImprovingFft {
  public:
    using PlanningMemory = typename FftBlock<Real>::PlanningMemory;

    /// `expected_s`: what one use is predicted to take; long ones are measured at once.
    ImprovingFft(const Shape3& grid, bool complex_data, double expected_s,
                 const PlanningMemory& memory);

    std::shared_ptr<const FftBlock<Real>> current() const;
    /// Tells of a use that took `seconds`; may spend a fraction of a second on better plans.
    void used(double seconds, const PlanningMemory& memory);

  private:
    Shape3 grid_;
    bool complex_data_;
    mutable std::mutex mutex_;
    double spent_s_ = 0;
    bool measured_;
    std::shared_ptr<const FftBlock<Real>> current_;
};

/// A kernel kept as 2D spectra, and the run of one block through the transforms of FftBlock.
template <class Real>
class FftKernel : public Kernel {
  public:
    using Complex = std::complex<Real>;

    /// Each thread's own memory.
    struct ThreadScratch {
        char* data;
        index_t bytes;
        void* of(int thread) const { return data + thread * bytes; }
    };

    /// `taps` are the block's own: of its part, real or complex as the block's data.
    FftKernel(std::shared_ptr<ImprovingFft<Real>> fft, const Volume& taps, int threads,
              const ThreadScratch& scratch);

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override;

  private:
    static void transform(const FftBlock<Real>& fft, const BlockInput& input, Complex* spectrum,
                          const ThreadScratch& scratch, int threads,
                          const ExecutionContext& context, double progress_end);

    std::shared_ptr<ImprovingFft<Real>> fft_;
    index_t planes_;
    Buffer spectra_;
};

}  // namespace convolume::cpu
