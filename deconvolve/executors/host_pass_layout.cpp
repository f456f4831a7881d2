// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/host_pass_layout.hpp"

#include <algorithm>
#include <utility>

#include "deconvolve/functors.hpp"

namespace convolume::deconvolve {

namespace {

PairAxes axes_of(const DeconvolutionProblem& problem, Index3& first_tap) {
    const Shape3 taps = problem.psf.shape();
    Index3 shift = problem.options.center.index;
    if (!problem.options.boundary)
        for (int a = 0; a < 3; ++a) shift[a] = taps[a] - 1;
    const PairAxes axes = cpu::pair_axes(problem.object, problem.image, taps, shift);
    for (int a = 0; a < 3; ++a) first_tap[a] = shift[a] - axes[static_cast<std::size_t>(a)].shift;
    return axes;
}

// Returns the taps of the PSF that are used.
ConstImageView used_taps(const RecordingLayout& layout, const ConstImageView& psf) {
    const auto& [z, y, x] = layout.axes;
    const Index3& first = layout.first_tap;
    return {psf.at(first.z, first.y, first.x), psf.type, {z.taps, y.taps, x.taps}, psf.strides};
}

}  // namespace

RecordingLayout::RecordingLayout(const DeconvolutionProblem& problem,
                                 const forward::ViewSampling& to_grid, int thread_count, bool keep)
    : sampling(to_grid),
      axes(axes_of(problem, first_tap)),
      grid(problem.object),
      image(problem.image),
      psf_weights(deconvolve::psf_weights(problem)),
      threads(thread_count),
      keep_spectrum(keep),
      tap_bytes(problem.psf_count() * element_count(problem.psf.shape()) *
                static_cast<index_t>(sizeof(float))) {}

HostPassLayout::HostPassLayout(const DeconvolutionProblem& problem, int thread_count, bool keep)
    : HostPassLayout(
          problem,
          {RecordingLayout(problem, forward::ViewSampling(problem.object, problem.object, {}),
                           thread_count, keep)},
          nullptr) {
    equal_planes = alike_planes(problem, first().axes[0], first().axes[0].whole_object());
}

HostPassLayout::HostPassLayout(const DeconvolutionProblem& problem,
                               std::vector<RecordingLayout> all, const ViewScales* view_scales)
    : recordings(std::move(all)),
      scales(view_scales),
      method(problem.options.method),
      object(problem.object),
      pixels(problem.pixels()),
      threads(recordings.front().threads),
      has_previous(problem.traits.keeps_previous),
      has_changes(problem.traits.keeps_change),
      has_held_out(problem.options.hold_out),
      has_pixel_weights(problem.options.has_pixel_weights),
      compares_all(problem.compares_all()) {}

index_t HostPassLayout::grid_samples() const {
    index_t most = 0;
    for (const RecordingLayout& one : recordings)
        if (!one.sampling.is_shift()) most = std::max(most, element_count(one.grid));
    return most;
}

index_t HostPassLayout::array_bytes() const {
    const auto bytes = [](index_t arrays, index_t samples) {
        return checked_multiply(arrays, Buffer::rounded_bytes(checked_multiply(
                                            samples, static_cast<index_t>(sizeof(float)))));
    };
    const index_t voxels = element_count(object);
    return checked_add(
        checked_add(bytes(1 + has_previous + has_changes + adds_corrections(), voxels),
                    bytes(1 + has_held_out + has_pixel_weights, pixels)),
        bytes(1, weight_samples()));
}

index_t HostPassLayout::bytes() const {
    // Passes are made one after the other, and arrays when all are made.
    index_t passes = 0, while_made = 0, taps = 0, rows = object.z * object.y, pixel_rows = 0;
    index_t of_thread = 0;
    for (const RecordingLayout& one : recordings) {
        const cpu::HostPlanePasses::Bytes of_passes = one.pass_bytes();
        while_made = std::max(while_made, checked_add(passes, of_passes.while_made));
        passes = checked_add(passes, of_passes.afterwards);
        taps = checked_add(taps, one.tap_bytes);
        pixel_rows += one.pixel_rows();
        of_thread = std::max(of_thread, one.sampling.bytes_of_thread(sizeof(float)));
    }
    const index_t sums = std::max(rows, pixel_rows) * static_cast<index_t>(sizeof(SumPair));
    const index_t grid =
        Buffer::rounded_bytes(grid_samples() * static_cast<index_t>(sizeof(float)));
    const index_t work = checked_add(checked_multiply(of_thread, threads), grid);
    return std::max(checked_add(while_made, taps),
                    checked_add(checked_add(passes, work), checked_add(array_bytes(), sums)));
}

cpu::HostPlanePasses make_plane_passes(const RecordingLayout& layout,
                                       const std::vector<ConstImageView>& psfs) {
    std::vector<ConstImageView> views;
    for (const ConstImageView& psf : psfs) views.push_back(used_taps(layout, psf));
    return {layout.axes, views, layout.psf_weights, layout.threads, layout.keep_spectrum};
}

}  // namespace convolume::deconvolve
