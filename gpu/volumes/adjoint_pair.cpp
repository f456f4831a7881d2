// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/adjoint_pair.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/transform_lengths.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t sample_bytes = sizeof(std::complex<float>);
// Spectra of the kernel's columns that are made at a time where they are not kept: they stay in the
// cache until they are used.
constexpr index_t most_batch_bytes = index_t{16} << 20;

}  // namespace

std::optional<PairAxes> adjoint_pair_axes(int device, const Shape3& object, const Shape3& image,
                                          const Shape3& taps, const Index3& shift) {
    PairAxes axes;
    for (int a = 0; a < 3; ++a) {
        PairAxis& axis = axes[static_cast<std::size_t>(a)];
        axis = {object[a], image[a], taps[a], shift[a], 0};
        if (axis.taps > axis.object) return {};
        const index_t least = std::max(
            {axis.object + axis.taps - 1 - axis.shift, axis.image + axis.shift, axis.object});
        axis.grid = own_length(device, a, least, 1, false, Precision::float32);
        if (axis.grid == 0) return {};
    }
    if (!has_stage_pass(axes[2].grid, device)) return {};
    return axes;
}

AdjointPair::AdjointPair(int device, const PairAxes& axes, const ConstImageView& taps,
                         index_t limit_bytes)
    : axes_(axes),
      pitch_(round_up(axes[2].grid / 2 + 1, tile_columns<float>)),
      plane_(checked_multiply(axes[1].grid, pitch_)),
      slots_(std::max(axes[0].object, axes[0].image)),
      scale_(1 / (static_cast<double>(axes[0].grid) * static_cast<double>(axes[1].grid) *
                  static_cast<double>(axes[2].grid))) {
    const index_t plane_bytes = checked_multiply(plane_, sample_bytes);
    const index_t spectrum = checked_multiply(slots_, plane_bytes);
    const index_t whole = checked_multiply(axes[0].grid, plane_bytes);
    const index_t compact = checked_multiply(axes[0].taps, plane_bytes);
    keeps_spectrum_ = checked_add(spectrum, whole) <= limit_bytes;
    constexpr index_t tile = tile_columns<float>;
    const index_t left = std::min(most_batch_bytes, limit_bytes - spectrum - compact);
    batch_columns_ = std::clamp(left / (axes[0].grid * sample_bytes) / tile * tile, tile, plane_);
    const index_t batch = batch_columns_ * axes[0].grid * sample_bytes;
    if (!keeps_spectrum_ && checked_add(spectrum, compact + batch) > limit_bytes)
        throw OutOfMemory(message("transforms take ", format_bytes(spectrum + compact + batch),
                                  ", but ", format_bytes(limit_bytes), " of the GPU are left"));
    spectrum_ = DeviceMemory(device, spectrum, "the spectrum of a deconvolution");
    kernel_ = DeviceMemory(device, keeps_spectrum_ ? whole : compact, "the spectrum of a PSF");
    if (!keeps_spectrum_) batch_ = DeviceMemory(device, batch, "the spectrum of a PSF");
    prepare(taps);
}

index_t AdjointPair::most_sums() const {
    return 2 * most_stage_blocks(axes_[2].grid);
}

void AdjointPair::prepare(const ConstImageView& taps) {
    const Shape3 shape = taps.shape;
    const auto bytes = static_cast<index_t>(size_of(taps.type)) * element_count(shape);
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    const DeviceMemory there(device, bytes);
    const Stream stream;
    check(cudaMemcpyAsync(there.data(), taps.data, static_cast<std::size_t>(bytes),
                          cudaMemcpyHostToDevice, stream),
          "copying the PSF");
    RowSource source;
    source.pixels = {there.data(), taps.type, shape.y * shape.x, shape.x};
    source.planes = shape.z;
    source.loaded_y = shape.y;
    source.loaded_x = shape.x;
    forward_rows<float>(axes_[2].grid, false, source, planes(kernel_), stream);
    const index_t rows = axes_[1].grid, length = axes_[0].grid;
    const Columns<float> in_planes = rows_of_planes(kernel_, shape.z);
    transform_columns<float>(rows, Direction::forward, in_planes, {0, shape.y, 0, rows}, in_planes,
                             {0, rows, 0, rows}, stream);
    if (keeps_spectrum_)
        transform_columns<float>(length, Direction::forward, columns(kernel_),
                                 {0, shape.z, 0, length}, columns(kernel_), {0, length, 0, length},
                                 stream);
    stream.wait();
}

// In the spectrum, rows and planes of both begin at 0; x and the positions of transforms do not.
AdjointPair::Box AdjointPair::object_box() const {
    return {0, axes_[1].object, 0, axes_[2].object, 0, axes_[0].object};
}
AdjointPair::Box AdjointPair::image_box() const {
    return {axes_[1].shift, axes_[1].image, axes_[2].shift,
            axes_[2].image, axes_[0].shift, axes_[0].image};
}

RowStage AdjointPair::placed(const RowStage& stage, const Box& box) const {
    RowStage there = stage;
    there.rows = box.rows;
    there.begin = static_cast<int>(box.first_x);
    there.count = static_cast<int>(box.count);
    return there;
}

SpectrumPlanes<float> AdjointPair::planes(const DeviceMemory& memory, index_t first) const {
    return {memory.as<std::complex<float>>(), plane_, pitch_, first,
            memory.bytes() / (plane_ * sample_bytes)};
}

// Slots are the rows of each plane.
Columns<float> AdjointPair::rows_of_planes(const DeviceMemory& memory, index_t planes) const {
    return {memory.as<std::complex<float>>(), pitch_, pitch_, planes, plane_};
}

// Slots are planes.
Columns<float> AdjointPair::columns(const DeviceMemory& memory) const {
    return {memory.as<std::complex<float>>(), plane_, plane_, 1, 0};
}

// Along y: rows of samples, in the first slots, to or from rows of the grid.
void AdjointPair::transform_rows(const Box& box, Direction direction, cudaStream_t stream) const {
    const index_t length = axes_[1].grid;
    const PositionMap whole{0, length, 0, length};
    const PositionMap part{box.first_row, box.rows, 0, length};
    const bool forward = direction == Direction::forward;
    const Columns<float> there = rows_of_planes(spectrum_, box.planes);
    transform_columns<float>(length, direction, there, forward ? part : whole, there,
                             forward ? whole : part, stream);
}

// Along z: forward, times the kernel or its conjugate, and back.
void AdjointPair::multiply(const Box& from, const Box& to, bool adjoint,
                           cudaStream_t stream) const {
    const index_t length = axes_[0].grid;
    const PositionMap load{from.first_plane, from.planes, 0, slots_};
    const PositionMap store{to.first_plane, to.planes, 0, slots_};
    if (keeps_spectrum_) {
        convolve_columns<float>(length, columns(spectrum_), load, store, columns(kernel_), stream,
                                adjoint);
        return;
    }
    for (index_t begin = 0; begin < plane_; begin += batch_columns_) {
        const index_t count = std::min(batch_columns_, plane_ - begin);
        const auto batch_of = [&](const DeviceMemory& memory) {
            Columns<float> batch = columns(memory);
            batch.data += begin;
            batch.columns = count;
            return batch;
        };
        const Columns<float> spectra{batch_.as<std::complex<float>>(), count, count, 1, 0};
        transform_columns<float>(length, Direction::forward, batch_of(kernel_),
                                 {0, axes_[0].taps, 0, axes_[0].taps}, spectra,
                                 {0, length, 0, length}, stream);
        convolve_columns<float>(length, batch_of(spectrum_), load, store, spectra, stream, adjoint);
    }
}

void AdjointPair::load(const RowStage& stage, const Box& box, cudaStream_t stream) const {
    stage_rows(axes_[2].grid, placed(stage, box), box.planes, planes(spectrum_), scale_, nullptr,
               stream);
}

index_t AdjointPair::convolve(const RowStage& stage, double* sums, cudaStream_t stream) const {
    const Box from = object_box(), to = image_box();
    transform_rows(from, Direction::forward, stream);
    multiply(from, to, false, stream);
    transform_rows(to, Direction::inverse, stream);
    return stage_rows(axes_[2].grid, placed(stage, to), to.planes, planes(spectrum_), scale_, sums,
                      stream);
}

index_t AdjointPair::project_back(const RowStage& stage, double* sums, cudaStream_t stream) const {
    const Box from = image_box(), to = object_box();
    transform_rows(from, Direction::forward, stream);
    multiply(from, to, true, stream);
    transform_rows(to, Direction::inverse, stream);
    return stage_rows(axes_[2].grid, placed(stage, to), to.planes, planes(spectrum_), scale_, sums,
                      stream);
}

void AdjointPair::project_back(const std::array<Planes, 2>& runs, cudaStream_t stream) const {
    const Box from = image_box(), to = object_box();
    transform_rows(from, Direction::forward, stream);
    multiply(from, to, true, stream);
    transform_rows(to, Direction::inverse, stream);
    for (const Planes& run : runs) {
        if (run.end <= run.begin) continue;
        RowTarget target;
        target.pixels = {run.target, PixelType::float32, to.rows * to.count, to.count};
        target.planes = run.end - run.begin;
        target.kept_y = to.rows;
        target.kept_x = to.count;
        inverse_rows<float>(axes_[2].grid, false, planes(spectrum_, run.begin), target, scale_,
                            stream);
    }
}

}  // namespace convolume::gpu
