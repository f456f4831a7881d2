// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution from an object to an image, and its adjoint, as passes over planes of spectra, for
// iterations that alternate between both. Object and image exist as spectra only, in the same
// memory; the caller changes their samples, and gets a few rows at a time while they
// are in the cache. The adjoint multiplies with the conjugate of the kernel's spectrum.

#include <complex>
#include <functional>

#include "convolume/execution.hpp"
#include "convolume/volume.hpp"
#include "core/pair_axis.hpp"
#include "core/threads.hpp"
#include "cpu/column_fft.hpp"
#include "cpu/row_fft.hpp"

namespace convolume::cpu {

/// Axes with transforms long enough for both. Taps that meet no sample are left out: the first
/// ones where `shift` has become less, and last ones.
PairAxes pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                   const Index3& shift);

class PlanePasses {
  public:
    enum class Side { object, image };

    /// Samples of neighboring rows of a plane, in scratch memory of one thread.
    struct Rows {
        index_t z, first, count;
        float* samples;
        index_t distance;
        /// That of row first + i.
        float* row(index_t i) const { return samples + i * distance; }
    };
    /// Is called by several threads, for each row once.
    using RowWork = std::function<void(const Rows&)>;

    /// Bytes that passes take: while they are made, and afterwards.
    struct Bytes {
        Bytes(const PairAxes& axes, int threads, bool keep_spectrum);
        index_t at_first, later;
    };

    /// `taps`: those of the axes, float64 in rows of neighbors. With `keep_spectrum` the kernel's
    /// spectrum is kept whole; else it is made along z, from that of its planes, whenever it is
    /// needed: that takes longer, and less memory.
    PlanePasses(const PairAxes& axes, const ConstImageView& taps, int threads, bool keep_spectrum);

    /// Rows that `fill` has filled become spectra.
    void forward(Side side, const RowWork& fill, const ExecutionContext& context);
    /// Spectra of the object's planes become those of the image's; or back, by the adjoint.
    void along_z(bool adjoint, const ExecutionContext& context);
    /// Spectra become samples, which `work` changes, and spectra again.
    void change(Side side, const RowWork& work, const ExecutionContext& context);
    /// Spectra of some planes become samples, which `take` reads.
    void inverse(Side side, const IndexRange& planes, const RowWork& take,
                 const ExecutionContext& context);

  private:
    using Complex = std::complex<float>;

    /// Layout of spectra and of scratch memory.
    struct Layout {
        explicit Layout(const PairAxes& axes);
        index_t pitch, plane, row_distance;
        index_t row_samples;      ///< of each thread's scratch, for rows
        index_t scratch_samples;  ///< of each thread, in all
        index_t tiles;            ///< of columns along z
    };
    struct Box {
        index_t planes, first_row, rows, first_x, count;
        index_t row_batches() const { return ceil_div(rows, RowFft::most_rows); }
    };

    Box box(Side side) const;
    /// Scratch memory of a thread: for columns, and for rows and their transforms.
    struct Scratch {
        float* rows;
        Complex* work;
    };
    Scratch scratch(int thread) const;
    /// A batch of rows in scratch memory, and where their spectra lie.
    Rows rows_of(const Box& box, index_t z, index_t batch, const Scratch& scratch) const;
    Complex* spectra_of(const Box& box, Complex* plane, index_t batch) const;
    void clear_around(const Box& box, const Rows& rows) const;

    // On a batch of rows of plane z, whose spectra lie in `plane`.
    using RowStep = void (PlanePasses::*)(const Box&, Complex* plane, index_t z, index_t batch,
                                          const RowWork&, const Scratch&) const;
    void fill_rows(const Box& box, Complex* plane, index_t z, index_t batch, const RowWork& fill,
                   const Scratch& scratch) const;
    void change_rows(const Box& box, Complex* plane, index_t z, index_t batch, const RowWork& work,
                     const Scratch& scratch) const;
    void take_rows(const Box& box, Complex* plane, index_t z, index_t batch, const RowWork& take,
                   const Scratch& scratch) const;
    void rows_forward(const Box& box, const Rows& rows, Complex* spectra,
                      const Scratch& scratch) const;
    /// The step on planes first, first + 1 …, of which the first one's spectra lie at `spectra`.
    PlaneStep rows_step(RowStep step, const Box& box, Complex* spectra, index_t first,
                        const RowWork& work) const;
    PlaneStep columns_step(bool inverse, const Box& box, Complex* spectra) const;
    void apply(index_t planes, const ExecutionContext& context,
               std::initializer_list<PlaneStep> steps) const;
    void convolve_tile(bool adjoint, index_t tile, Complex* work) const;

    void prepare(const ConstImageView& taps);

    PairAxes axes_;
    Layout layout_;
    int threads_;
    bool keeps_spectrum_;
    Buffer spectrum_, kernel_, scratch_;
    RowFft x_;
    ColumnFft<float> y_, z_;
};

}  // namespace convolume::cpu
