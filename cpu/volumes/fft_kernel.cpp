// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/fft_kernel.hpp"

#include <chrono>

#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/plane_steps.hpp"

namespace convolume::cpu {

namespace {

// Shares of a block's time, for its progress.
constexpr double transformed = 0.35;
constexpr double multiplied = 0.7;

BlockInput whole(const ConstImageView& view) {
    return {view,
            {identity_indices(view.shape.z), identity_indices(view.shape.y),
             identity_indices(view.shape.x)},
            0,
            false};
}

}  // namespace

template <class Real>
FftKernel<Real>::FftKernel(std::shared_ptr<ImprovingFft<Real>> fft, const Volume& taps, int threads,
                           const Scratch& scratch)
    : fft_(std::move(fft)), planes_(taps.shape().z) {
    const auto transforms = fft_->current();
    const SpectrumLayout& layout = transforms->layout();
    const index_t samples = checked_multiply(planes_, layout.plane);
    spectra_ = Buffer(checked_multiply(samples, sizeof(Complex)), "a kernel's spectrum");
    spectra_.touch(threads);
    transform(*transforms, whole(taps.view()), spectra_.as<Complex>(), scratch, threads, {}, 0);
    // The inverse transforms are not normalized: the kernel carries the factor.
    const auto scale =
        Real(1 / (static_cast<double>(layout.length_x) * static_cast<double>(layout.rows) *
                  static_cast<double>(layout.planes)));
    Complex* const spectra = spectra_.as<Complex>();
    parallel_ranges(samples, threads, [=](index_t begin, index_t end, int) {
        for (index_t i = begin; i < end; ++i) spectra[i] *= scale;
    });
}

template <class Real>
ExecutionReport FftKernel<Real>::convolve(const Block& block, const BlockInput& input,
                                          const BlockOutput& output, char* workspace, int threads,
                                          const ExecutionContext& context) const {
    const auto start = std::chrono::steady_clock::now();
    const auto fft = fft_->current();
    const WorkspaceLayout memory = workspace_layout(block, threads);
    Complex* const spectrum = reinterpret_cast<Complex*>(workspace);
    const Scratch scratch{workspace + memory.spectrum_bytes, memory.scratch_bytes};
    transform(*fft, input, spectrum, scratch, threads, context, transformed);

    ParallelLoop loop(threads, context);
    // A row of tiles at a time: fewer hand-outs than one tile each.
    constexpr index_t tiles_at_once = 16;
    const index_t tiles = fft->z_tiles();
    loop.run(ceil_div(tiles, tiles_at_once), transformed, multiplied,
             [&](index_t group, int thread) {
                 const index_t end = std::min(tiles, (group + 1) * tiles_at_once);
                 for (index_t tile = group * tiles_at_once; tile < end; ++tile)
                     fft->convolve_columns(spectrum, block.axes[0], spectra_.as<Complex>(), planes_,
                                           tile, scratch.of(thread));
             });

    ClampTotal clamped;
    const auto plane = [&](index_t z) { return spectrum + z * fft->layout().plane; };
    const index_t plane_bytes = fft->layout().plane * static_cast<index_t>(sizeof(Complex));
    for_each_plane(loop, block.axes[0].kept, plane_bytes, threads, multiplied, 1,
                   {{fft->column_batches(),
                     [&](index_t z, index_t batch, int thread) {
                         fft->inverse_columns(plane(z), batch, scratch.of(thread));
                     }},
                    {fft->row_batches(), [&](index_t z, index_t batch, int thread) {
                         clamped.add(fft->inverse_rows(plane(z), z, batch, block.axes[1],
                                                       block.axes[2], output, scratch.of(thread)));
                     }}});
    fft_->used(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
               {spectrum, scratch.data});
    return clamped.report();
}

template <class Real>
void FftKernel<Real>::transform(const FftBlock<Real>& fft, const BlockInput& input,
                                Complex* spectrum, const Scratch& scratch, int threads,
                                const ExecutionContext& context, double progress_end) {
    ParallelLoop loop(threads, context);
    const pixels::RowGather gather(input.gather[2]);
    const auto plane = [&](index_t z) { return spectrum + z * fft.layout().plane; };
    const index_t plane_bytes = fft.layout().plane * static_cast<index_t>(sizeof(Complex));
    for_each_plane(loop, static_cast<index_t>(input.gather[0].size()), plane_bytes, threads, 0,
                   progress_end,
                   {{fft.row_batches(),
                     [&](index_t z, index_t batch, int thread) {
                         fft.forward_rows(input, gather, z, batch, plane(z), scratch.of(thread));
                     }},
                    {fft.column_batches(), [&](index_t z, index_t batch, int thread) {
                         fft.forward_columns(plane(z), batch, scratch.of(thread));
                     }}});
}

template class FftKernel<float>;
template class FftKernel<double>;

}  // namespace convolume::cpu
