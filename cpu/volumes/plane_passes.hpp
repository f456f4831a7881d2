// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution from an object to an image, and its adjoint, as passes over planes of spectra on
// the host, for iterations that alternate between both. Object and image are kept as spectra, in
// the same memory. The caller reads and changes samples a few rows at a time, while they are in the
// cache. The adjoint multiplies with the conjugate of the spectrum of the kernel. The kernel may
// vary along z: only the convolution along z then takes longer.

#include <complex>
#include <functional>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/volume.hpp"
#include "core/pair_axis.hpp"
#include "core/plane_weights.hpp"
#include "core/threads.hpp"
#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/row_batch_fft.hpp"

namespace convolume::cpu {

/// Returns axes with grids that are long enough for object and image. Taps that meet no sample are
/// left out at both ends; `shift` is less by the first taps that are left out.
PairAxes pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                   const Index3& shift);

/// The passes of a convolution and of its adjoint on the host.
class HostPlanePasses {
  public:
    /// The two ends of the convolution: samples and spectra are those of the one or the other.
    enum class PairSide { object, image };

    /// Samples of neighboring rows of a plane, in scratch memory of one thread.
    struct Rows {
        index_t z, first, count;
        float* samples;
        index_t distance;
        /// Returns the samples of row first + i.
        float* row(index_t i) const { return samples + i * distance; }
    };
    /// A function of the caller for rows, which several threads call, once for each row.
    using RowWork = std::function<void(const Rows&)>;

    /// Bytes that passes take while they are made, and afterwards.
    struct Bytes {
        Bytes(const PairAxes& axes, int threads, bool keep_spectrum, index_t kernels = 1);
        index_t while_made, afterwards;
    };

    /// `taps` of each kernel are those of the axes, in float32, with contiguous rows. With
    /// `keep_spectrum` the whole spectra of the kernels are kept. Without, they are transformed
    /// along z in every pass, which takes longer and less memory.
    HostPlanePasses(const PairAxes& axes, const std::vector<ConstImageView>& taps,
                    PlaneWeights weights, int threads, bool keep_spectrum);

    /// Transforms rows, which `fill` fills, to spectra.
    void forward(PairSide side, const RowWork& fill, const ExecutionContext& context);
    /// Convolves along z: makes spectra of the image of those of the object, or with `adjoint`
    /// spectra of the object of those of the image.
    void along_z(bool adjoint, const ExecutionContext& context);
    /// Transforms spectra to samples, which `work` changes, and transforms them to spectra again.
    void change(PairSide side, const RowWork& work, const ExecutionContext& context);
    /// Transforms spectra of some planes to samples, which `take` reads.
    void inverse(PairSide side, const IndexRange& planes, const RowWork& take,
                 const ExecutionContext& context);

  private:
    using Complex = std::complex<float>;
    /// Number of rows that are transformed at once.
    static constexpr index_t rows_at_once = ColumnFft<float>::most_columns;

    /// Layout of spectra and of scratch memory, in complex samples.
    struct PassLayout {
        PassLayout(const PairAxes& axes, index_t kernels);
        index_t pitch, plane;     ///< distances between rows and between planes of spectra
        index_t row_distance;     ///< floats between rows in scratch memory
        index_t row_samples;      ///< size of the scratch memory of a thread for rows
        index_t scratch_samples;  ///< size of all scratch memory of a thread
        index_t z_batches;        ///< batches of columns along z
    };
    /// The samples of object, image or kernel on the grid.
    struct SampleBox {
        index_t planes, first_row, rows, first_x, count;
        index_t row_batches() const { return ceil_div(rows, rows_at_once); }
    };

    SampleBox box(PairSide side) const;
    /// Scratch memory of a thread, for rows and for transforms.
    struct PassScratch {
        float* rows;
        Complex* work;
        /// Returns the memory for transforms of the rows.
        float* row_work(const PassLayout& layout) const {
            return reinterpret_cast<float*>(work + layout.row_samples);
        }
    };
    PassScratch scratch(int thread) const;
    /// Returns a batch of rows in scratch memory. spectra_of() returns their spectra in `plane`.
    Rows rows_of(const SampleBox& box, index_t z, index_t batch, const PassScratch& scratch) const;
    Complex* spectra_of(const SampleBox& box, Complex* plane, index_t batch) const;
    void clear_around(const SampleBox& box, const Rows& rows) const;

    // A step on a batch of rows of plane z, whose spectra are in `plane`.
    using RowStep = void (HostPlanePasses::*)(const SampleBox&, Complex* plane, index_t z,
                                              index_t batch, const RowWork&,
                                              const PassScratch&) const;
    void fill_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                   const RowWork& fill, const PassScratch& scratch) const;
    void change_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                     const RowWork& work, const PassScratch& scratch) const;
    void take_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                   const RowWork& take, const PassScratch& scratch) const;
    void rows_forward(const SampleBox& box, const Rows& rows, Complex* spectra,
                      const PassScratch& scratch) const;
    /// Makes a step on planes first, first + 1, …; the spectra of plane `first` are at `spectra`.
    PlaneStep rows_step(RowStep step, const SampleBox& box, Complex* spectra, index_t first,
                        const RowWork& work) const;
    PlaneStep columns_step(bool inverse, const SampleBox& box, Complex* spectra) const;
    void apply(index_t planes, const ExecutionContext& context,
               std::initializer_list<PlaneStep> steps) const;
    void convolve_batch(bool adjoint, index_t batch, Complex* work) const;
    /// Do the same with a kernel that varies along z.
    void convolve_varying(index_t batch, Complex* work) const;
    void project_varying(index_t batch, Complex* work) const;
    /// Returns the spectrum of a kernel's batch of columns, which may be made in `work`.
    const Complex* kernel_batch(index_t kernel, index_t batch, Complex* work,
                                Complex* transform_scratch) const;

    /// Returns the transformed kernel.
    Buffer prepare(const ConstImageView& taps) const;

    PairAxes axes_;
    PassLayout layout_;
    int threads_;
    bool keeps_spectrum_;
    PlaneWeights weights_;
    std::vector<IndexRange> used_;  ///< planes at which each kernel has a weight, if it varies
    Buffer spectrum_, scratch_;
    std::vector<Buffer> kernels_;
    RowBatchFft<float> x_forward_, x_inverse_;
    ColumnFft<float> y_, z_;
};

}  // namespace convolume::cpu
