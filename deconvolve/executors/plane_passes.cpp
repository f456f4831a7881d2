// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/plane_passes.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/executors/element_passes.hpp"
#include "gpu/fft/pass_times.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/volumes/block_geometry.hpp"

namespace convolume::deconvolve {

std::optional<PairAxes> pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                                  const Index3& shift) {
    PairAxes axes;
    for (int a = 0; a < 3; ++a) {
        PairAxis& axis = axes[static_cast<std::size_t>(a)];
        axis = {object[a], image[a], taps[a], shift[a], 0};
        if (axis.taps > axis.object) return {};
    }
    return axes;
}

index_t pair_grid_y(int device, index_t least) {
    return gpu::length_with_passes(device, 1, least, 1, false, Precision::float32);
}
index_t pair_grid_x(int device, index_t least) {
    index_t length = good_element_length(least);
    while (length > 0 && !element_passes().has(length, device))
        length = good_element_length(length + 1);
    return length;
}

index_t pair_grid_z(int device, index_t least) {
    return gpu::length_with_passes(device, 0, least, 1, false, Precision::float32);
}

namespace {

constexpr index_t sample_bytes = sizeof(std::complex<float>);

struct PassBytes {
    PassBytes(const PairAxes& axes, index_t slots, std::size_t count, index_t rings)
        : pitch(round_up(axes[2].grid / 2 + 1, gpu::tile_columns<float>)),
          plane(checked_multiply(axes[1].grid, pitch)),
          spectrum(checked_multiply(checked_multiply(slots, rings), plane * sample_bytes)),
          kernels(
              checked_multiply(axes[0].grid * static_cast<index_t>(count), plane * sample_bytes)),
          taps(checked_multiply(axes[0].taps * static_cast<index_t>(count), plane * sample_bytes)) {
    }

    index_t pitch, plane, spectrum;
    index_t kernels, taps;  ///< bytes of all kernels, transformed along z or not
};

/// Whether passes along z take longer if they transform the taps of a kernel.
bool spectra_are_faster(const PairAxis& z, index_t plane, int device) {
    gpu::ColumnConvolution pass{.length = z.grid,
                                .loaded = z.object,
                                .stored = z.image,
                                .columns = plane,
                                .taps = z.taps,
                                .sample_bytes = sample_bytes,
                                .spectrum = gpu::ColumnConvolution::Spectrum::in_pass};
    const gpu::DeviceRates rates = gpu::device_rates(device);
    const double taps_s = gpu::convolution_seconds(pass, rates.memory, rates.multiply_adds);
    pass.spectrum = gpu::ColumnConvolution::Spectrum::kept;
    return gpu::convolution_seconds(pass, rates.memory, rates.multiply_adds) < taps_s;
}

}  // namespace

index_t DevicePlanePasses::least_bytes(const PairAxes& axes, index_t slots, std::size_t kernels,
                                       index_t rings, bool varies) {
    const PassBytes bytes(axes, slots, kernels, rings);
    return checked_add(bytes.spectrum, varies ? bytes.kernels : bytes.taps);
}

DevicePlanePasses::DevicePlanePasses(int device, const PairAxes& axes, index_t slots,
                                     const PlaneKernels& kernels, index_t limit_bytes,
                                     index_t rings, std::shared_ptr<gpu::Workspace> shared)
    : axes_(axes),
      slots_(slots),
      scale_(1 / (static_cast<double>(axes[0].grid) * static_cast<double>(axes[1].grid) *
                  static_cast<double>(axes[2].grid))),
      workspace_(gpu::Workspace::shared_or_new(std::move(shared), device)),
      host_weights_(kernels.weights) {
    const PassBytes bytes(axes, slots, kernels.taps.size(), rings);
    pitch_ = bytes.pitch;
    plane_ = bytes.plane;
    const index_t missing = std::max<index_t>(0, bytes.spectrum - workspace_->bytes());
    keeps_spectrum_ = checked_add(missing, bytes.kernels) <= limit_bytes &&
                      (kernels.weights.vary() || spectra_are_faster(axes[0], bytes.plane, device));
    const index_t least = checked_add(missing, kernels.weights.vary() ? bytes.kernels : bytes.taps);
    if (least > limit_bytes)
        throw OutOfMemory(message("transforms take ", format_bytes(least), ", but ",
                                  format_bytes(limit_bytes), " of the GPU are left"),
                          MemoryKind::gpu);
    spectrum_bytes_ = bytes.spectrum;
    workspace_grown_ = workspace_->grow(spectrum_bytes_);
    const auto count = static_cast<index_t>(kernels.taps.size());
    kernels_ =
        gpu::DeviceMemory(device, count * kernel_samples() * sample_bytes, "the spectrum of a PSF");
    kernels_.clear();
    for (std::size_t k = 0; k < kernels.taps.size(); ++k) prepare(kernels.taps[k], kernel(k));
    if (host_weights_.vary()) copy_weights(device);
}

void DevicePlanePasses::copy_weights(int device) {
    const auto bytes = static_cast<index_t>(host_weights_.values.size() * sizeof(float));
    weights_ = gpu::DeviceMemory(device, bytes, "the weights of PSFs");
    const gpu::CudaStream stream;
    gpu::check(cudaMemcpyAsync(weights_.data(), host_weights_.values.data(),
                               static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream),
               "copying the weights of PSFs");
    stream.wait();
}

index_t DevicePlanePasses::bytes() const {
    return workspace_grown_ + kernels_.bytes() + weights_.bytes();
}

index_t DevicePlanePasses::most_sums() const {
    return 2 * element_passes().most_blocks(axes_[2].grid);
}

void DevicePlanePasses::prepare(const ConstImageView& taps, std::complex<float>* planes) {
    const Shape3 shape{taps.shape.z, taps.shape.y, axes_[2].taps};
    const index_t plane_bytes = bytes_of({1, shape.y, shape.x}, PixelType::float32);
    // Planes travel a few at a time, so that little memory is taken beside the spectrum.
    const index_t at_once =
        std::clamp<index_t>(2 * gpu::StagingPool::buffer_bytes / plane_bytes, 1, shape.z);
    const int device = gpu::current_device();
    const gpu::DeviceMemory there(device, at_once * plane_bytes);
    const gpu::CudaStream stream;
    gpu::BusGate gate(TransferGate::off);
    gpu::StagingPool staging(4);
    gpu::DeviceTimeline no_timeline(nullptr, 0, -1, stream);
    gpu::Uploader uploader({device, thread_count(0), &gate, &staging, &no_timeline}, stream);
    const index_t missing = shape.x - taps.shape.x;
    const gpu::BoxReader read = [&](const Box3& box, const ImageView& rows) {
        parallel_for(rows.shape.z * rows.shape.y, thread_count(0), [&](index_t row, int) {
            const index_t z = row / rows.shape.y, y = row % rows.shape.y;
            auto* const to = static_cast<float*>(rows.at(z, y, 0));
            const index_t zeros = std::clamp<index_t>(missing - box.begin.x, 0, rows.shape.x);
            std::fill_n(to, zeros, 0.0F);
            if (zeros < rows.shape.x)
                std::copy_n(static_cast<const float*>(taps.at(box.begin.z + z, box.begin.y + y,
                                                              box.begin.x + zeros - missing)),
                            rows.shape.x - zeros, to + zeros);
        });
    };
    gpu::RowSource source;
    source.pixels = {there.data(), PixelType::float32, shape.y * shape.x, shape.x};
    source.loaded_y = shape.y;
    source.loaded_x = shape.x;
    const index_t rows = axes_[1].grid, length = axes_[0].grid;
    for (index_t first = 0; first < shape.z; first += at_once) {
        const index_t last = std::min(shape.z, first + at_once);
        uploader.upload(read, {{first, 0, 0}, {last, shape.y, shape.x}}, PixelType::float32,
                        there.data());
        source.planes = last - first;
        gpu::forward_rows<float>(axes_[2].grid, false, source,
                                 {planes, plane_, pitch_, first, shape.z}, stream);
    }
    uploader.finish();
    const gpu::Columns<float> in_planes = rows_of_planes(planes, shape.z);
    gpu::transform_columns<float>(rows, gpu::PassDirection::forward, in_planes,
                                  {0, shape.y, 0, rows}, in_planes, {0, rows, 0, rows}, stream);
    if (keeps_spectrum_)
        gpu::transform_columns<float>(length, gpu::PassDirection::forward, columns(planes),
                                      {0, shape.z, 0, length}, columns(planes),
                                      {0, length, 0, length}, stream);
    stream.wait();
}

// In spectra, the rows of both object and image begin at slot 0. Samples along x, and positions of
// transforms, begin at the shift.
DevicePlanePasses::PlaneArea DevicePlanePasses::area_of(PlaneKind kind) const {
    if (kind == PlaneKind::object) return {0, axes_[1].object, 0, axes_[2].object};
    return {axes_[1].shift, axes_[1].image, axes_[2].shift, axes_[2].image};
}

ElementWork DevicePlanePasses::placed(const ElementWork& work, const PlaneArea& area) const {
    ElementWork there = work;
    there.rows = area.rows;
    there.begin = static_cast<int>(area.first_x);
    there.count = static_cast<int>(area.count);
    return there;
}

gpu::SpectrumPlanes<float> DevicePlanePasses::planes(const SlotRange& slots) const {
    return {ring(slots.ring), plane_, pitch_, slots.first, slots_};
}

// Returns columns along y: each row of a plane is a slot, and each plane is a batch.
gpu::Columns<float> DevicePlanePasses::rows_of_planes(std::complex<float>* first_plane,
                                                      index_t count) const {
    return {first_plane, pitch_, pitch_, count, plane_};
}

// Returns columns along z: each plane is a slot.
gpu::Columns<float> DevicePlanePasses::columns(std::complex<float>* first_plane) const {
    return {first_plane, plane_, plane_, 1, 0};
}

// Transforms between the rows of samples, which are in the first slots, and all rows of the grid.
void DevicePlanePasses::transform_y(const PlaneArea& area, gpu::PassDirection direction,
                                    const SlotRange& slots, cudaStream_t stream) const {
    const index_t length = axes_[1].grid;
    const PositionMap whole{0, length, 0, length};
    const PositionMap part{area.first_row, area.rows, 0, length};
    const bool forward = direction == gpu::PassDirection::forward;
    for (index_t done = 0; done < slots.count;) {
        const index_t first = (slots.first + done) % slots_;
        const index_t count = std::min(slots.count - done, slots_ - first);
        const gpu::Columns<float> there = rows_of_planes(ring(slots.ring) + first * plane_, count);
        gpu::transform_columns<float>(length, direction, there, forward ? part : whole, there,
                                      forward ? whole : part, stream);
        done += count;
    }
}

void DevicePlanePasses::forward(PlaneKind kind, const ElementWork& work, const SlotRange& slots,
                                cudaStream_t stream) const {
    const PlaneArea area = area_of(kind);
    element_passes().run(axes_[2].grid, placed(work, area), slots.count, planes(slots), scale_,
                         nullptr, stream);
    transform_y(area, gpu::PassDirection::forward, slots, stream);
}

void DevicePlanePasses::along_z(const PositionMap& load, const PositionMap& store, bool adjoint,
                                index_t first_plane, cudaStream_t stream, std::size_t kernel_index,
                                index_t ring_index) const {
    const gpu::Columns<float> data = columns(ring(ring_index));
    if (host_weights_.vary()) {
        // Kernels without weight at these planes are left out.
        const index_t end = first_plane + (adjoint ? store : load).count;
        const auto has_weight = [&](index_t k) {
            return host_weights_.used(k).within({first_plane, end}).count() > 0;
        };
        index_t first = 0, last = host_weights_.kernels() - 1;
        while (first < last && !has_weight(first)) ++first;
        while (last > first && !has_weight(last)) --last;
        gpu::convolve_varying_columns(
            axes_[0].grid, data, load, store,
            {columns(kernel(static_cast<std::size_t>(first))), last - first + 1, kernel_samples(),
             weights_.as<float>() + first * host_weights_.planes + first_plane,
             host_weights_.planes, adjoint},
            stream);
        return;
    }
    const index_t taps = keeps_spectrum_ ? 0 : axes_[0].taps;
    gpu::convolve_columns<float>(axes_[0].grid, data, load, store,
                                 {columns(kernel(kernel_index)), taps, adjoint}, stream);
}

index_t DevicePlanePasses::inverse(PlaneKind kind, const ElementWork& work, const SlotRange& slots,
                                   double* sums, cudaStream_t stream) const {
    const PlaneArea area = area_of(kind);
    transform_y(area, gpu::PassDirection::inverse, slots, stream);
    const index_t blocks = element_passes().run(axes_[2].grid, placed(work, area), slots.count,
                                                planes(slots), scale_, sums, stream);
    if (work.kind == ElementKind::compare || work.kind == ElementKind::advance)
        transform_y(area, gpu::PassDirection::forward, slots, stream);
    return blocks;
}

void DevicePlanePasses::inverse(PlaneKind kind, const SlotRange& slots, float* target,
                                cudaStream_t stream) const {
    const PlaneArea area = area_of(kind);
    transform_y(area, gpu::PassDirection::inverse, slots, stream);
    gpu::RowTarget rows;
    rows.pixels = {target, PixelType::float32, area.rows * area.count, area.count};
    rows.planes = slots.count;
    rows.kept_y = area.rows;
    rows.kept_begin_x = area.first_x;
    rows.kept_x = area.count;
    gpu::inverse_rows<float>(axes_[2].grid, false, planes(slots), rows, scale_, stream);
}

}  // namespace convolume::deconvolve
