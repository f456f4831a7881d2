// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/fft_block.hpp"

#include <chrono>
#include <cstring>
#include <mutex>

#include "core/pixels/rows.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/vector_loops.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t z_batch = SpectrumLayout::z_batch;
static_assert(z_batch == ColumnFft<float>::most_columns &&
              SpectrumLayout::column_batch == ColumnFft<float>::most_columns &&
              SpectrumLayout::column_batch / 2 == ColumnFft<float>::column_multiple);

template <class T>
void clear(T* data, index_t count) {
    std::memset(static_cast<void*>(data), 0, static_cast<std::size_t>(count) * sizeof(T));
}

// Returns the distance between rows in scratch memory: whole cache lines, so that rows are aligned.
template <class Sample>
index_t row_distance(index_t length) {
    return round_up(length, static_cast<index_t>(Buffer::alignment / sizeof(Sample)));
}

template <class Real>
index_t scratch_bytes(const SpectrumLayout& layout, bool complex_data) {
    const index_t row = complex_data ? row_distance<std::complex<Real>>(layout.length_x) * 2
                                     : row_distance<Real>(layout.length_x);
    const index_t rows = bytes_of<Real>(layout.row_batch * row);
    const index_t columns = ColumnFft<Real>::scratch_samples(layout.rows);
    const index_t z_columns =
        2 * layout.planes * z_batch + ColumnFft<Real>::scratch_samples(layout.planes);
    return round_up(std::max(rows, bytes_of<std::complex<Real>>(std::max(columns, z_columns))),
                    static_cast<index_t>(Buffer::alignment));
}

}  // namespace

/// The transforms of a block: their FFT plans, and the work on batches of rows and columns.
template <class Real>
class FftBlock {
  public:
    using Complex = std::complex<Real>;

    /// Plans the transforms of `grid`. Several threads may call all other members.
    FftBlock(const FftGrid& grid, const FftPlanning& planning, const PlanningMemory<Real>& memory)
        : layout_(grid.shape, grid.complex_data),
          complex_data_(grid.complex_data),
          columns_(layout_.rows),
          z_(layout_.planes) {
        // FFTW measures plans in this memory, where denormal numbers would falsify the times.
        clear(memory.plane, layout_.plane);
        clear(static_cast<char*>(memory.scratch), scratch_bytes<Real>(layout_, complex_data_));

        const auto rows_of = [&](index_t in_distance, index_t out_distance) {
            return TransformBatch{layout_.length_x, layout_.row_batch, 1, in_distance, 1,
                                  out_distance};
        };
        const index_t distance = complex_data_ ? row_distance<Complex>(layout_.length_x)
                                               : row_distance<Real>(layout_.length_x);
        rows_forward_ = {rows_of(distance, layout_.pitch),
                         complex_data_ ? TransformKind::forward : TransformKind::real_forward,
                         memory.scratch, memory.plane, planning};
        rows_inverse_ = {rows_of(layout_.pitch, distance),
                         complex_data_ ? TransformKind::inverse : TransformKind::real_inverse,
                         memory.plane, memory.scratch, planning};
    }

    /// Whether a measurement would make transforms faster, as those of FFTW.
    bool can_improve() const { return rows_forward_.uses_fftw() || rows_inverse_.uses_fftw(); }

    const SpectrumLayout& layout() const { return layout_; }

    /// Loads batch `batch` of the rows of plane `z` of the input, and transforms them along x.
    void forward_rows(const BlockInput& input, const pixels::RowGather& gather, index_t z,
                      index_t batch, Complex* plane, void* scratch) const {
        const index_t first_row = batch * layout_.row_batch;
        Complex* const spectrum = plane + first_row * layout_.pitch;
        const auto transform = [&](auto* rows) {
            const bool any = load_batch(input, gather, z, first_row, rows);
            if (any) rows_forward_.execute(rows, spectrum);
            return any;
        };
        const bool any = complex_data_ ? transform(static_cast<Complex*>(scratch))
                                       : transform(static_cast<Real*>(scratch));
        if (!any) {
            clear(spectrum, layout_.row_batch * layout_.pitch);
        } else {
            // Other passes transform unused columns too: no denormal numbers or NaN may be there.
            for (index_t i = 0; i < layout_.row_batch; ++i)
                clear(spectrum + i * layout_.pitch + layout_.half_x,
                      layout_.pitch - layout_.half_x);
        }
    }

    /// Transforms one batch of columns of a plane along y, in place.
    void transform_columns(bool inverse, Complex* plane, index_t batch, void* scratch) const {
        const index_t first = batch * SpectrumLayout::column_batch;
        const index_t columns = std::min(SpectrumLayout::column_batch, layout_.pitch - first);
        const typename ColumnFft<Real>::InputColumns from{plane + first, layout_.pitch,
                                                          layout_.rows};
        const typename ColumnFft<Real>::OutputColumns to{plane + first, layout_.pitch, 0,
                                                         layout_.rows};
        auto* const own = static_cast<Complex*>(scratch);
        inverse ? columns_.inverse(from, to, columns, own)
                : columns_.forward(from, to, columns, own);
    }

    /// Transforms one batch of columns of a plane along y, multiplies it with the kernel's, and
    /// transforms it back.
    void convolve_plane_columns(Complex* plane, const Complex* kernel, index_t batch,
                                void* scratch) const {
        transform_columns(false, plane, batch, scratch);
        const index_t first = batch * SpectrumLayout::column_batch;
        const index_t columns = std::min(SpectrumLayout::column_batch, layout_.pitch - first);
        for (index_t y = 0; y < layout_.rows; ++y) {
            const index_t at = y * layout_.pitch + first;
            multiply(kernel + at, plane + at, columns);
        }
        transform_columns(true, plane, batch, scratch);
    }

    /// Transforms a batch of rows back and stores the samples that are kept along y and x.
    ClampCount inverse_rows(Complex* plane, index_t z, index_t batch, const BlockAxis& kept_y,
                            const BlockAxis& kept_x, const BlockOutput& output,
                            void* scratch) const {
        const index_t first_row = batch * layout_.row_batch;
        const index_t begin = std::max(first_row, kept_y.kept_begin);
        const index_t end =
            std::min(first_row + layout_.row_batch, kept_y.kept_begin + kept_y.kept);
        ClampCount clamped;
        if (begin >= end) return clamped;
        Complex* const spectrum = plane + first_row * layout_.pitch;
        const auto store = [&](auto* rows, index_t distance) {
            rows_inverse_.execute(spectrum, rows);
            for (index_t y = begin; y < end; ++y)
                clamped += pixels::store_row(rows + (y - first_row) * distance + kept_x.kept_begin,
                                             kept_x.kept, output.add, output.target, z,
                                             y - kept_y.kept_begin);
        };
        if (complex_data_)
            store(static_cast<Complex*>(scratch), row_distance<Complex>(layout_.length_x));
        else
            store(static_cast<Real*>(scratch), row_distance<Real>(layout_.length_x));
        return clamped;
    }

    /// Convolves batch `batch` of the columns along z: reads z_axis.loaded planes of `spectrum` and
    /// `kernel_planes` of `kernel`, and writes planes from kept_begin on to planes 0 … kept-1.
    void convolve_columns(Complex* spectrum, const BlockAxis& z_axis, const Complex* kernel,
                          index_t kernel_planes, index_t batch, void* scratch) const {
        Complex* const image_columns = static_cast<Complex*>(scratch);
        Complex* const kernel_columns = image_columns + layout_.planes * z_batch;
        Complex* const transform_scratch = kernel_columns + layout_.planes * z_batch;
        const index_t first = batch * z_batch;
        z_.forward({spectrum + first, layout_.plane, z_axis.loaded},
                   {image_columns, z_batch, 0, layout_.planes}, z_batch, transform_scratch);
        z_.forward({kernel + first, layout_.plane, kernel_planes},
                   {kernel_columns, z_batch, 0, layout_.planes}, z_batch, transform_scratch);
        multiply(kernel_columns, image_columns, layout_.planes * z_batch);
        z_.inverse({image_columns, z_batch, layout_.planes},
                   {spectrum + first, layout_.plane, z_axis.kept_begin, z_axis.kept}, z_batch,
                   transform_scratch);
    }

    index_t row_batches() const { return layout_.rows / layout_.row_batch; }
    index_t column_batches() const { return ceil_div(layout_.pitch, SpectrumLayout::column_batch); }
    index_t z_batches() const { return layout_.plane / SpectrumLayout::z_batch; }

  private:
    /// Loads a batch of rows. Returns whether any row of it holds samples of the image.
    template <class Sample>
    bool load_batch(const BlockInput& input, const pixels::RowGather& gather, index_t z,
                    index_t first_row, Sample* rows) const {
        const std::vector<index_t>& source_rows = input.gather[1];
        // Planes behind those that are loaded are 0.
        const index_t source_z = z < static_cast<index_t>(input.gather[0].size())
                                     ? input.gather[0][static_cast<std::size_t>(z)]
                                     : -1;
        const index_t distance = row_distance<Sample>(layout_.length_x);
        const pixels::LoadOptions options{input.subtract, input.nonfinite_to_zero};
        bool any = false;
        for (index_t i = 0; i < layout_.row_batch; ++i) {
            Sample* const row = rows + i * distance;
            const auto y = static_cast<std::size_t>(first_row + i);
            const index_t source_y = y < source_rows.size() && source_z >= 0 ? source_rows[y] : -1;
            if (source_y < 0) {
                clear(row, layout_.length_x);
                continue;
            }
            pixels::load_row(input.source, source_z, source_y, gather, options, row);
            clear(row + gather.size(), layout_.length_x - gather.size());
            any = true;
        }
        return any;
    }

    SpectrumLayout layout_;
    bool complex_data_;
    FftPlan<Real> rows_forward_, rows_inverse_;
    ColumnFft<Real> columns_, z_;
};

namespace {
// Length of the longest rows whose FFT plans are measured. Measuring longer rows takes long.
constexpr index_t longest_measured = index_t{1} << 17;

// Seconds of use from which FFT plans are measured, which takes some tenths of a second.
constexpr double worth_measuring_s = 3;
}  // namespace

/// Transforms whose FFT plans improve with use, if they are FFTW's. They are estimated at first, so
/// that a first execution does not wait, and measured when they have been used for some seconds.
template <class Real>
class ImprovingFft {
  public:
    /// `expected_s` is the predicted time of one block. FFT plans for long ones are measured at
    /// once. Those that `stay` are not measured later.
    ImprovingFft(const FftGrid& grid, FftLibrary library, double expected_s, bool stay,
                 const PlanningMemory<Real>& memory)
        : grid_(grid), library_(library) {
        const bool measured = expected_s >= worth_measuring_s && can_measure();
        current_ = make(measured ? PlanningEffort::measured : PlanningEffort::quick, memory);
        improves_ = !measured && !stay && can_measure() && current_->can_improve();
    }

    std::shared_ptr<const FftBlock<Real>> current() const {
        const std::lock_guard lock(mutex_);
        return current_;
    }

    /// Counts a use of `seconds`. May spend a fraction of a second on better FFT plans.
    void count_use(double seconds, const PlanningMemory<Real>& memory) {
        {
            const std::lock_guard lock(mutex_);
            spent_s_ += seconds;
            if (!improves_ || spent_s_ < worth_measuring_s) return;
            improves_ = false;  // other threads go on with the FFT plans that they have
        }
        auto better = make(PlanningEffort::measured, memory);
        const std::lock_guard lock(mutex_);
        current_ = std::move(better);
    }

  private:
    bool can_measure() const { return grid_.shape.x <= longest_measured; }
    std::shared_ptr<const FftBlock<Real>> make(PlanningEffort effort,
                                               const PlanningMemory<Real>& memory) const {
        return std::make_shared<const FftBlock<Real>>(grid_, FftPlanning{library_, effort}, memory);
    }

    FftGrid grid_;
    FftLibrary library_;
    mutable std::mutex mutex_;
    double spent_s_ = 0;
    bool improves_;  ///< whether FFT plans are still to be measured
    std::shared_ptr<const FftBlock<Real>> current_;
};

namespace {

// Fractions of the progress of a block after its forward transforms, and after the pass along z.
constexpr double progress_after_forward = 0.35;
constexpr double progress_after_z = 0.7;

BlockInput whole_input(const ConstImageView& view) {
    return {view,
            {identity_indices(view.shape.z), identity_indices(view.shape.y),
             identity_indices(view.shape.x)},
            0,
            false};
}

/// A kernel that is kept as 2D spectra, and convolves blocks by the transforms of FftBlock.
template <class Real>
class FftKernel : public CpuKernel {
  public:
    using Complex = std::complex<Real>;

    /// Transforms `taps`, which are as in make_fft_kernel().
    FftKernel(std::shared_ptr<ImprovingFft<Real>> fft, const ConstImageView& taps, int threads,
              const ThreadScratch& scratch)
        : fft_(std::move(fft)), planes_(taps.shape.z) {
        const auto transforms = fft_->current();
        const SpectrumLayout& layout = transforms->layout();
        const index_t samples = checked_multiply(planes_, layout.plane);
        spectra_ = Buffer(checked_multiply(samples, sizeof(Complex)), "a kernel's spectrum");
        spectra_.touch(threads);
        transform(*transforms, whole_input(taps), spectra_.as<Complex>(), scratch, threads, {}, 0);
        // Inverse transforms are not normalized: the kernel contains the factor.
        const index_t along_z = planes_ == 1 ? 1 : layout.planes;
        const auto scale =
            Real(1 / (static_cast<double>(layout.length_x) * static_cast<double>(layout.rows) *
                      static_cast<double>(along_z)));
        Complex* const spectra = spectra_.as<Complex>();
        parallel_ranges(samples, threads, [=](index_t begin, index_t end, int) {
            for (index_t i = begin; i < end; ++i) spectra[i] *= scale;
        });
    }

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override {
        const auto start = std::chrono::steady_clock::now();
        const auto fft = fft_->current();
        const WorkspaceLayout memory = workspace_layout(block, threads);
        Complex* const spectrum = reinterpret_cast<Complex*>(workspace);
        const ThreadScratch scratch{workspace + memory.spectrum_bytes, memory.scratch_bytes};
        const ParallelLoop loop(threads, context);
        ReportSum clamped;
        const auto plane = [&](index_t z) { return spectrum + z * fft->layout().plane; };
        const index_t plane_bytes = bytes_of<Complex>(fft->layout().plane);
        const PlaneStep store{
            fft->row_batches(), [&](index_t z, index_t batch, int thread) {
                clamped.add(fft->inverse_rows(plane(z), z, batch, block.axes[1], block.axes[2],
                                              output, scratch.of(thread)));
            }};
        const auto report = [&] {
            const std::chrono::duration<double> used = std::chrono::steady_clock::now() - start;
            fft_->count_use(used.count(), {spectrum, scratch.data});
            return clamped.report();
        };
        if (planes_ == 1) {
            const pixels::RowGather gather(input.gather[2]);
            const BlockAxis& z_axis = block.axes[0];
            run_plane_steps(loop, z_axis.kept, plane_bytes, threads, 0, 1,
                            {{fft->row_batches(),
                              [&](index_t z, index_t batch, int thread) {
                                  fft->forward_rows(input, gather, z + z_axis.kept_begin, batch,
                                                    plane(z), scratch.of(thread));
                              }},
                             {fft->column_batches(),
                              [&](index_t z, index_t batch, int thread) {
                                  fft->convolve_plane_columns(plane(z), spectra_.as<Complex>(),
                                                              batch, scratch.of(thread));
                              }},
                             store});
            return report();
        }
        transform(*fft, input, spectrum, scratch, threads, context, progress_after_forward);

        // Threads take several batches at a time, which is less overhead.
        constexpr index_t batches_at_once = 16;
        const index_t batches = fft->z_batches();
        loop.run(ceil_div(batches, batches_at_once), progress_after_forward, progress_after_z,
                 [&](index_t group, int thread) {
                     const index_t end = std::min(batches, (group + 1) * batches_at_once);
                     for (index_t batch = group * batches_at_once; batch < end; ++batch)
                         fft->convolve_columns(spectrum, block.axes[0], spectra_.as<Complex>(),
                                               planes_, batch, scratch.of(thread));
                 });

        run_plane_steps(loop, block.axes[0].kept, plane_bytes, threads, progress_after_z, 1,
                        {{fft->column_batches(),
                          [&](index_t z, index_t batch, int thread) {
                              fft->transform_columns(true, plane(z), batch, scratch.of(thread));
                          }},
                         store});
        return report();
    }

  private:
    /// Loads the planes of `input` and transforms them in 2D.
    static void transform(const FftBlock<Real>& fft, const BlockInput& input, Complex* spectrum,
                          const ThreadScratch& scratch, int threads,
                          const ExecutionContext& context, double progress_end) {
        const ParallelLoop loop(threads, context);
        const pixels::RowGather gather(input.gather[2]);
        const auto plane = [&](index_t z) { return spectrum + z * fft.layout().plane; };
        const index_t plane_bytes = bytes_of<Complex>(fft.layout().plane);
        run_plane_steps(loop, static_cast<index_t>(input.gather[0].size()), plane_bytes, threads, 0,
                        progress_end,
                        {{fft.row_batches(),
                          [&](index_t z, index_t batch, int thread) {
                              fft.forward_rows(input, gather, z, batch, plane(z),
                                               scratch.of(thread));
                          }},
                         {fft.column_batches(), [&](index_t z, index_t batch, int thread) {
                              fft.transform_columns(false, plane(z), batch, scratch.of(thread));
                          }}});
    }

    std::shared_ptr<ImprovingFft<Real>> fft_;
    index_t planes_;
    Buffer spectra_;
};

}  // namespace

index_t fft_scratch_bytes(const SpectrumLayout& layout, Precision precision, bool complex_data) {
    return precision == Precision::float32 ? scratch_bytes<float>(layout, complex_data)
                                           : scratch_bytes<double>(layout, complex_data);
}

template <class Real>
std::shared_ptr<ImprovingFft<Real>> make_fft(const FftGrid& grid, FftLibrary library,
                                             double expected_s, bool stay,
                                             const PlanningMemory<Real>& memory) {
    return std::make_shared<ImprovingFft<Real>>(grid, library, expected_s, stay, memory);
}

template <class Real>
std::shared_ptr<const CpuKernel> make_fft_kernel(std::shared_ptr<ImprovingFft<Real>> fft,
                                                 const ConstImageView& taps, int threads,
                                                 const ThreadScratch& scratch) {
    return std::make_shared<const FftKernel<Real>>(std::move(fft), taps, threads, scratch);
}

#define CONVOLUME_INSTANTIATE(Real)                                                           \
    template std::shared_ptr<ImprovingFft<Real>> make_fft(const FftGrid&, FftLibrary, double, \
                                                          bool, const PlanningMemory<Real>&); \
    template std::shared_ptr<const CpuKernel> make_fft_kernel(                                \
        std::shared_ptr<ImprovingFft<Real>>, const ConstImageView&, int, const ThreadScratch&);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
#undef CONVOLUME_INSTANTIATE

}  // namespace convolume::cpu
