// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of one block: 2D planes forward, a fused pass along z (forward, times the kernel,
// inverse), 2D planes inverse. Zero planes are neither stored nor transformed, and the kernel is
// kept as the 2D spectra of its own planes: its transform along z is part of the fused pass, so
// that the padded kernel never exists.

#include <complex>

#include "convolume/volume.hpp"
#include "core/pixels/rows.hpp"
#include "cpu/column_fft.hpp"
#include "cpu/fftw.hpp"
#include "cpu/volumes/spectrum_layout.hpp"

namespace convolume::cpu {

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
    void forward_columns(Complex* plane, index_t batch, void* scratch) const;
    void inverse_columns(Complex* plane, index_t batch, void* scratch) const;
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

}  // namespace convolume::cpu
