// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/plane_passes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/fft_size.hpp"
#include "cpu/volumes/vector_loops.hpp"

namespace convolume::cpu {

namespace {

using PassColumns = ColumnFft<float>;
constexpr index_t pass_columns = PassColumns::most_columns;
constexpr auto complex_bytes = static_cast<index_t>(sizeof(std::complex<float>));

}  // namespace

PairAxes pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                   const Index3& shift) {
    PairAxes axes;
    for (int a = 0; a < 3; ++a) {
        PairAxis& axis = axes[static_cast<std::size_t>(a)];
        axis = {object[a], image[a], taps[a], shift[a], 1};
        const IndexRange used = axis.used_taps();
        axis.taps = used.count();
        axis.shift -= used.begin;
        // Transforms of real rows have even lengths.
        axis.grid = good_fft_size(axis.least_grid(), a == 2 ? 2 : 1, a, false);
    }
    return axes;
}

HostPlanePasses::PassLayout::PassLayout(const PairAxes& axes, index_t kernels) {
    const auto& [z, y, x] = axes;
    pitch = round_up(x.grid / 2 + 1, PassColumns::column_multiple);
    // With planes at an odd number of batches, equal columns do not share the same cache sets.
    plane = (ceil_div(checked_multiply(y.grid, pitch), pass_columns) | 1) * pass_columns;
    z_batches = ceil_div(y.grid * pitch, pass_columns);
    constexpr auto aligned = static_cast<index_t>(Buffer::alignment);
    row_distance = round_up(x.grid, aligned / index_t{sizeof(float)});
    row_samples = rows_at_once * row_distance / 2;
    // One kernel needs data and its spectrum; several need a sum and weighted planes, too.
    const index_t batches = kernels > 1 ? 4 : 2;
    const index_t batch = batches * z.grid * pass_columns + PassColumns::scratch_samples(z.grid);
    const index_t transforms =
        RowBatchFft<float>::scratch_reals(x.grid, TransformKind::real_forward);
    const index_t rows = row_samples + ceil_div(transforms, index_t{2});
    scratch_samples = round_up(std::max({rows, PassColumns::scratch_samples(y.grid), batch}),
                               aligned / complex_bytes);
}

HostPlanePasses::Bytes::Bytes(const PairAxes& axes, int threads, bool keep_spectrum,
                              index_t kernels) {
    const PassLayout layout(axes, kernels);
    const auto bytes = [](index_t samples) {
        return Buffer::rounded_bytes(checked_multiply(samples, complex_bytes));
    };
    const index_t planes = bytes(checked_multiply(axes[0].taps, layout.plane));
    const index_t kernel =
        keep_spectrum ? bytes(checked_multiply(layout.z_batches,
                                               checked_multiply(axes[0].grid, pass_columns)))
                      : planes;
    afterwards =
        checked_add(bytes(checked_multiply(std::max(axes[0].object, axes[0].image), layout.plane)),
                    checked_add(checked_multiply(kernels, kernel),
                                bytes(checked_multiply(threads, layout.scratch_samples))));
    while_made = checked_add(afterwards, keep_spectrum ? planes : 0);
}

HostPlanePasses::HostPlanePasses(const PairAxes& axes, const std::vector<ConstImageView>& taps,
                                 PlaneWeights weights, int threads, bool keep_spectrum)
    : axes_(axes),
      layout_(axes, static_cast<index_t>(taps.size())),
      threads_(threads),
      keeps_spectrum_(keep_spectrum),
      weights_(std::move(weights)),
      spectrum_(std::max(axes[0].object, axes[0].image) * layout_.plane * complex_bytes,
                "the spectra of a deconvolution"),
      scratch_(threads * layout_.scratch_samples * complex_bytes, "a workspace"),
      x_forward_(axes[2].grid, TransformKind::real_forward),
      x_inverse_(axes[2].grid, TransformKind::real_inverse),
      y_(axes[1].grid),
      z_(axes[0].grid) {
    spectrum_.touch(threads);
    scratch_.touch(threads);
    for (const ConstImageView& of_kernel : taps) kernels_.push_back(prepare(of_kernel));
    for (index_t k = 0; weights_.vary() && k < weights_.kernels(); ++k)
        used_.push_back(weights_.used(k));
}

HostPlanePasses::PassScratch HostPlanePasses::scratch(int thread) const {
    Complex* const own = scratch_.as<Complex>() + thread * layout_.scratch_samples;
    return {reinterpret_cast<float*>(own), own};
}

HostPlanePasses::SampleBox HostPlanePasses::box(PairSide side) const {
    const auto& [z, y, x] = axes_;
    if (side == PairSide::object) return {z.object, 0, y.object, 0, x.object};
    return {z.image, y.shift, y.image, x.shift, x.image};
}

// Transforms the planes of a kernel along x and y and, if the spectrum is kept, along z. Inverse
// transforms are not normalized: the kernel contains the factor.
Buffer HostPlanePasses::prepare(const ConstImageView& taps) const {
    const auto& [z, y, x] = axes_;
    const SampleBox all{z.taps, 0, y.taps, 0, x.taps};
    const double scale = 1 / (static_cast<double>(z.grid) * static_cast<double>(y.grid) *
                              static_cast<double>(x.grid));
    Buffer planes(z.taps * layout_.plane * complex_bytes, "a kernel's spectrum");
    planes.touch(threads_);
    const index_t width = x.taps;
    const RowWork fill = [&](const Rows& rows) {
        for (index_t i = 0; i < rows.count; ++i) {
            const auto* const row = static_cast<const float*>(taps.at(rows.z, rows.first + i, 0));
            for (index_t n = 0; n < width; ++n)
                rows.row(i)[n] = static_cast<float>(scale * static_cast<double>(row[n]));
        }
    };
    Complex* const spectra = planes.as<Complex>();
    apply(z.taps, {},
          {rows_step(&HostPlanePasses::fill_rows, all, spectra, 0, fill),
           columns_step(false, all, spectra)});
    if (!keeps_spectrum_) return planes;
    const index_t batch = z.grid * pass_columns;
    Buffer kernel(layout_.z_batches * batch * complex_bytes, "a kernel's spectrum");
    kernel.touch(threads_);
    parallel_for(layout_.z_batches, threads_, [&](index_t t, int thread) {
        z_.forward({spectra + t * pass_columns, layout_.plane, axes_[0].taps},
                   {kernel.as<Complex>() + t * batch, pass_columns, 0, axes_[0].grid}, pass_columns,
                   scratch(thread).work);
    });
    return kernel;
}

HostPlanePasses::Rows HostPlanePasses::rows_of(const SampleBox& box, index_t z, index_t batch,
                                               const PassScratch& scratch) const {
    const index_t first = batch * rows_at_once;
    return {z, first, std::min(rows_at_once, box.rows - first), scratch.rows + box.first_x,
            layout_.row_distance};
}

HostPlanePasses::Complex* HostPlanePasses::spectra_of(const SampleBox& box, Complex* plane,
                                                      index_t batch) const {
    return plane + (box.first_row + batch * rows_at_once) * layout_.pitch;
}

// Puts zeros before and behind the samples of the rows.
void HostPlanePasses::clear_around(const SampleBox& box, const Rows& rows) const {
    for (index_t i = 0; i < rows.count; ++i) {
        float* const row = rows.row(i) - box.first_x;
        std::fill_n(row, box.first_x, 0.0F);
        std::fill(row + box.first_x + box.count, row + axes_[2].grid, 0.0F);
    }
}

void HostPlanePasses::rows_forward(const SampleBox& box, const Rows& rows, Complex* spectra,
                                   const PassScratch& scratch) const {
    clear_around(box, rows);
    x_forward_.run({scratch.rows, rows.distance, reinterpret_cast<float*>(spectra),
                    2 * layout_.pitch, rows.count},
                   scratch.row_work(layout_));
}

void HostPlanePasses::fill_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                                const RowWork& fill, const PassScratch& scratch) const {
    const Rows rows = rows_of(box, z, batch, scratch);
    fill(rows);
    rows_forward(box, rows, spectra_of(box, plane, batch), scratch);
}

void HostPlanePasses::change_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                                  const RowWork& work, const PassScratch& scratch) const {
    take_rows(box, plane, z, batch, work, scratch);
    rows_forward(box, rows_of(box, z, batch, scratch), spectra_of(box, plane, batch), scratch);
}

void HostPlanePasses::take_rows(const SampleBox& box, Complex* plane, index_t z, index_t batch,
                                const RowWork& take, const PassScratch& scratch) const {
    const Rows rows = rows_of(box, z, batch, scratch);
    x_inverse_.run({reinterpret_cast<float*>(spectra_of(box, plane, batch)), 2 * layout_.pitch,
                    scratch.rows, rows.distance, rows.count},
                   scratch.row_work(layout_));
    take(rows);
}

PlaneStep HostPlanePasses::rows_step(RowStep step, const SampleBox& box, Complex* spectra,
                                     index_t first, const RowWork& work) const {
    return {box.row_batches(), [=, this, &work](index_t k, index_t batch, int thread) {
                (this->*step)(box, spectra + k * layout_.plane, first + k, batch, work,
                              scratch(thread));
            }};
}

PlaneStep HostPlanePasses::columns_step(bool inverse, const SampleBox& box,
                                        Complex* spectra) const {
    return {ceil_div(layout_.pitch, pass_columns), [=, this](index_t k, index_t batch, int thread) {
                const index_t first = batch * pass_columns, pitch = layout_.pitch;
                const index_t columns = std::min(pass_columns, pitch - first);
                Complex* const whole = spectra + k * layout_.plane + first;
                Complex* const rows = whole + box.first_row * pitch;
                Complex* const work = scratch(thread).work;
                if (inverse)
                    y_.inverse({whole, pitch, axes_[1].grid},
                               {rows, pitch, box.first_row, box.rows}, columns, work);
                else
                    y_.forward({rows, pitch, box.rows, box.first_row},
                               {whole, pitch, 0, axes_[1].grid}, columns, work);
            }};
}

void HostPlanePasses::apply(index_t planes, const ExecutionContext& context,
                            std::initializer_list<PlaneStep> steps) const {
    const ParallelLoop loop(threads_, context);
    run_plane_steps(loop, planes, layout_.plane * complex_bytes, threads_, 0, 1, steps);
}

void HostPlanePasses::convolve_batch(bool adjoint, index_t batch, Complex* work) const {
    const PairAxis& z = axes_[0];
    const index_t samples = z.grid * pass_columns, first = batch * pass_columns;
    Complex* const data = work;
    Complex* const transform_scratch = work + 2 * samples;
    const Complex* const kernel = kernel_batch(0, batch, work + samples, transform_scratch);
    Complex* const columns = spectrum_.as<Complex>() + first;
    const PassColumns::OutputColumns whole{data, pass_columns, 0, z.grid};
    if (adjoint) {
        z_.forward({columns, layout_.plane, z.image, z.shift}, whole, pass_columns,
                   transform_scratch);
        multiply_conjugate(kernel, data, samples);
        z_.inverse({data, pass_columns, z.grid}, {columns, layout_.plane, 0, z.object},
                   pass_columns, transform_scratch);
    } else {
        z_.forward({columns, layout_.plane, z.object}, whole, pass_columns, transform_scratch);
        multiply(kernel, data, samples);
        z_.inverse({data, pass_columns, z.grid}, {columns, layout_.plane, z.shift, z.image},
                   pass_columns, transform_scratch);
    }
}

const HostPlanePasses::Complex* HostPlanePasses::kernel_batch(index_t kernel, index_t batch,
                                                              Complex* work,
                                                              Complex* transform_scratch) const {
    const PairAxis& z = axes_[0];
    const auto* const all = kernels_[static_cast<std::size_t>(kernel)].as<Complex>();
    if (keeps_spectrum_) return all + batch * z.grid * pass_columns;
    z_.forward({all + batch * pass_columns, layout_.plane, z.taps}, {work, pass_columns, 0, z.grid},
               pass_columns, transform_scratch);
    return work;
}

// Adds up the products of spectra: there are as many transforms as kernels, and one back.
void HostPlanePasses::convolve_varying(index_t batch, Complex* work) const {
    const PairAxis& z = axes_[0];
    const index_t samples = z.grid * pass_columns;
    Complex* const columns = spectrum_.as<Complex>() + batch * pass_columns;
    Complex* const sum = work;
    Complex* const data = work + samples;
    Complex* const weighted = work + 2 * samples;
    Complex* const transform_scratch = work + 4 * samples;
    for (index_t k = 0; k < weights_.kernels(); ++k) {
        const IndexRange used = used_[static_cast<std::size_t>(k)];
        const float* const weights = weights_.of(k);
        for (index_t plane = used.begin; plane < used.end; ++plane)
            for (index_t c = 0; c < pass_columns; ++c)
                weighted[(plane - used.begin) * pass_columns + c] =
                    weights[plane] * columns[plane * layout_.plane + c];
        Complex* const product = k == 0 ? sum : data;
        z_.forward({weighted, pass_columns, used.count(), used.begin},
                   {product, pass_columns, 0, z.grid}, pass_columns, transform_scratch);
        multiply(kernel_batch(k, batch, work + 3 * samples, transform_scratch), product, samples);
        if (k > 0) std::transform(data, data + samples, sum, sum, std::plus<>());
    }
    z_.inverse({sum, pass_columns, z.grid}, {columns, layout_.plane, z.shift, z.image},
               pass_columns, transform_scratch);
}

void HostPlanePasses::project_varying(index_t batch, Complex* work) const {
    const PairAxis& z = axes_[0];
    const index_t samples = z.grid * pass_columns;
    Complex* const columns = spectrum_.as<Complex>() + batch * pass_columns;
    Complex* const spectrum = work;
    Complex* const product = work + samples;
    Complex* const projected = work + 2 * samples;
    Complex* const transform_scratch = work + 4 * samples;
    z_.forward({columns, layout_.plane, z.image, z.shift}, {spectrum, pass_columns, 0, z.grid},
               pass_columns, transform_scratch);
    for (index_t plane = 0; plane < z.object; ++plane)
        std::fill_n(columns + plane * layout_.plane, pass_columns, Complex(0));
    for (index_t k = 0; k < weights_.kernels(); ++k) {
        const IndexRange used = used_[static_cast<std::size_t>(k)];
        const float* const weights = weights_.of(k);
        std::copy_n(spectrum, samples, product);
        multiply_conjugate(kernel_batch(k, batch, work + 3 * samples, transform_scratch), product,
                           samples);
        z_.inverse({product, pass_columns, z.grid},
                   {projected, pass_columns, used.begin, used.count()}, pass_columns,
                   transform_scratch);
        for (index_t plane = used.begin; plane < used.end; ++plane)
            for (index_t c = 0; c < pass_columns; ++c)
                columns[plane * layout_.plane + c] +=
                    weights[plane] * projected[(plane - used.begin) * pass_columns + c];
    }
}

void HostPlanePasses::forward(PairSide side, const RowWork& fill, const ExecutionContext& context) {
    const SampleBox here = box(side);
    Complex* const spectra = spectrum_.as<Complex>();
    apply(here.planes, context,
          {rows_step(&HostPlanePasses::fill_rows, here, spectra, 0, fill),
           columns_step(false, here, spectra)});
}

void HostPlanePasses::along_z(bool adjoint, const ExecutionContext& context) {
    // Threads take several batches at a time, which is less overhead.
    constexpr index_t batches_at_once = 16;
    const ParallelLoop loop(threads_, context);
    loop.run(ceil_div(layout_.z_batches, batches_at_once), 0, 1, [&](index_t group, int thread) {
        const index_t end = std::min(layout_.z_batches, (group + 1) * batches_at_once);
        for (index_t batch = group * batches_at_once; batch < end; ++batch) {
            Complex* const work = scratch(thread).work;
            if (!weights_.vary())
                convolve_batch(adjoint, batch, work);
            else if (adjoint)
                project_varying(batch, work);
            else
                convolve_varying(batch, work);
        }
    });
}

void HostPlanePasses::change(PairSide side, const RowWork& work, const ExecutionContext& context) {
    const SampleBox here = box(side);
    Complex* const spectra = spectrum_.as<Complex>();
    apply(here.planes, context,
          {columns_step(true, here, spectra),
           rows_step(&HostPlanePasses::change_rows, here, spectra, 0, work),
           columns_step(false, here, spectra)});
}

void HostPlanePasses::inverse(PairSide side, const IndexRange& planes, const RowWork& take,
                              const ExecutionContext& context) {
    const SampleBox here = box(side);
    Complex* const spectra = spectrum_.as<Complex>() + planes.begin * layout_.plane;
    apply(planes.count(), context,
          {columns_step(true, here, spectra),
           rows_step(&HostPlanePasses::take_rows, here, spectra, planes.begin, take)});
}

}  // namespace convolume::cpu
