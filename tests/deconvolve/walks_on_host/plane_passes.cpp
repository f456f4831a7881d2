// SPDX-License-Identifier: Apache-2.0
// Plane passes without transforms: a slot holds a plane as samples in double precision, and passes
// along z convolve in circles by direct sums. Data that a transform would overwrite become NaN, so
// that their use is noticed.

#include "deconvolve/executors/plane_passes.hpp"

#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace convolume::deconvolve {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double* samples_of(std::complex<float>* slot) {
    return reinterpret_cast<double*>(slot);
}

index_t modulo(index_t i, index_t length) {
    return (i % length + length) % length;
}

float extrapolated(const ElementWork& work, index_t i) {
    const bool ahead = work.before != nullptr && !work.restart;
    return ahead ? work.elements.extrapolation(work.newest[i], work.before[i]) : work.newest[i];
}

// Returns the sample that a forward pass loads, as a transform would receive it.
double loaded_sample(const ElementWork& work, index_t i) {
    if (work.loads_ones) {
        const auto* const data = static_cast<const float*>(work.data);
        return data == nullptr || richardson_lucy::is_compared(data[i]) ? 1 : 0;
    }
    const float point = extrapolated(work, i);
    if (work.kept != nullptr) work.kept[i] = point;
    return static_cast<double>(point);
}

// Returns the value that replaces a sample after an inverse transform. `w` is the index of the
// sample's weight.
double stored_sample(const ElementWork& work, index_t i, index_t w, double sample, double* sums) {
    const auto back = static_cast<float>(sample);
    if (work.kind == ElementKind::compare) {
        const float recorded = work.data_is_uint16 ? static_cast<const std::uint16_t*>(work.data)[i]
                                                   : static_cast<const float*>(work.data)[i];
        if (work.held_out != nullptr && richardson_lucy::is_compared(work.held_out[i])) {
            const double away =
                static_cast<double>(work.elements.held_out_error(work.held_out[i], back));
            sums[1] += away * away;
        }
        float ratio = 0, added = 0;
        work.elements.with_comparison(
            [&](const auto& compare) { ratio = compare(recorded, back, true, added); });
        sums[0] += static_cast<double>(added);
        return static_cast<double>(ratio);
    }
    const float point = extrapolated(work, i);
    float step = 0;
    work.elements.with_update(
        [&](const auto& update) { step = update(point, back, work.weight[w]); });
    (work.before != nullptr ? work.before : work.newest)[i] = step;
    if (work.change != nullptr) {
        const double old =
            work.restart ? 0 : static_cast<double>(work.last_format.lengthened(work.change[i]));
        work.change[i] = work.format.shortened(step - point);
        sums[0] += static_cast<double>(step - point) * old;
        sums[1] += old * old;
    }
    return work.kind == ElementKind::advance ? static_cast<double>(step) : nothing;
}

}  // namespace

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
index_t pair_grid_y(int, index_t least) {
    return least;
}
index_t pair_grid_x(int, index_t least) {
    return least;
}

DevicePlanePasses::DevicePlanePasses(int device, const PairAxes& axes, index_t slots,
                                     const PlaneKernels& kernels, index_t, index_t rings,
                                     std::shared_ptr<gpu::Workspace> shared)
    : axes_(axes),
      pitch_(axes[2].grid),
      plane_(axes[1].grid * axes[2].grid),
      slots_(slots),
      workspace_(gpu::Workspace::shared_or_new(std::move(shared), device)),
      spectrum_bytes_(slots * rings * plane_ * index_t{sizeof(double)}),
      host_weights_(kernels.weights) {
    workspace_grown_ = workspace_->grow(spectrum_bytes_);
    std::memset(workspace_->data(), 0xff, static_cast<std::size_t>(spectrum_bytes_));  // NaN
    const index_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
    const auto count = static_cast<index_t>(kernels.taps.size());
    kernels_ = gpu::DeviceMemory(device, count * taps * index_t{sizeof(double)});
    double* target = kernels_.as<double>();
    std::fill_n(target, count * taps, 0.0);
    for (const ConstImageView& kernel : kernels.taps) {
        const index_t first_x = axes[2].taps - kernel.shape.x;
        for (index_t z = 0; z < kernel.shape.z; ++z)
            for (index_t y = 0; y < kernel.shape.y; ++y)
                for (index_t x = 0; x < kernel.shape.x; ++x)
                    target[(z * axes[1].taps + y) * axes[2].taps + first_x + x] =
                        static_cast<double>(*static_cast<const float*>(kernel.at(z, y, x)));
        target += taps;
    }
}

index_t DevicePlanePasses::bytes() const {
    return workspace_grown_;
}
index_t DevicePlanePasses::most_sums() const {
    return 2;
}

DevicePlanePasses::PlaneArea DevicePlanePasses::area_of(PlaneKind kind) const {
    if (kind == PlaneKind::object) return {0, axes_[1].object, 0, axes_[2].object};
    return {axes_[1].shift, axes_[1].image, axes_[2].shift, axes_[2].image};
}

void DevicePlanePasses::forward(PlaneKind kind, const ElementWork& work, const SlotRange& slots,
                                cudaStream_t stream) const {
    enqueue(stream, [=, this, box_rows = area_of(kind)] {
        for (index_t z = 0, i = 0; z < slots.count; ++z) {
            double* const plane =
                samples_of(ring(slots.ring) + (slots.first + z) % slots_ * plane_);
            std::fill_n(plane, plane_, 0.0);
            for (index_t y = 0; y < box_rows.rows; ++y)
                for (index_t x = 0; x < box_rows.count; ++x, ++i)
                    plane[(box_rows.first_row + y) * pitch_ + box_rows.first_x + x] =
                        loaded_sample(work, i);
        }
    });
}

void DevicePlanePasses::along_z(const PositionMap& load, const PositionMap& store, bool adjoint,
                                index_t first_plane, cudaStream_t stream, std::size_t kernel,
                                index_t ring_index) const {
    enqueue(stream, [=, this] {
        const index_t length = axes_[0].grid, rows = axes_[1].grid, columns = axes_[2].grid;
        for (const PositionMap& map : {load, store})
            if (map.count > std::min(length, map.ring)) throw std::logic_error("too many planes");
        const index_t sign = adjoint ? 1 : -1;
        std::vector<std::vector<double>> all(static_cast<std::size_t>(store.count),
                                             std::vector<double>(static_cast<std::size_t>(plane_)));
        const auto slot_at = [&](const PositionMap& map, index_t i) {
            return samples_of(ring(ring_index) + (map.first + i) % map.ring * plane_);
        };
        const bool varies = host_weights_.vary();
        const index_t first = varies ? 0 : static_cast<index_t>(kernel);
        const index_t last = varies ? host_weights_.kernels() - 1 : first;
        const index_t tap_count = axes_[0].taps * axes_[1].taps * axes_[2].taps;
        for (index_t k = first; k <= last; ++k) {
            const double* taps = kernels_.as<double>() + k * tap_count;
            for (index_t tz = 0; tz < axes_[0].taps; ++tz)
                for (index_t ty = 0; ty < axes_[1].taps; ++ty)
                    for (index_t tx = 0; tx < axes_[2].taps; ++tx, ++taps)
                        for (index_t i = 0; i < store.count; ++i) {
                            const index_t from =
                                modulo(store.begin + i + sign * tz - load.begin, length);
                            if (from >= load.count) continue;
                            const index_t plane = first_plane + (adjoint ? i : from);
                            const double tap =
                                *taps *
                                (varies ? static_cast<double>(host_weights_.of(k)[plane]) : 1);
                            if (tap == 0) continue;
                            const double* const seen = slot_at(load, from);
                            double* const sum = all[static_cast<std::size_t>(i)].data();
                            for (index_t y = 0; y < rows; ++y)
                                for (index_t x = 0; x < columns; ++x)
                                    sum[y * columns + x] +=
                                        tap * seen[modulo(y + sign * ty, rows) * columns +
                                                   modulo(x + sign * tx, columns)];
                        }
        }
        for (index_t i = 0; i < store.count; ++i)
            std::copy_n(all[static_cast<std::size_t>(i)].data(), plane_, slot_at(store, i));
    });
}

index_t DevicePlanePasses::inverse(PlaneKind kind, const ElementWork& work, const SlotRange& slots,
                                   double* sums, cudaStream_t stream) const {
    enqueue(stream, [=, this, box_rows = area_of(kind)] {
        double found[2] = {0, 0};
        for (index_t z = 0, i = 0; z < slots.count; ++z) {
            double* const plane =
                samples_of(ring(slots.ring) + (slots.first + z) % slots_ * plane_);
            std::vector<double> after(static_cast<std::size_t>(plane_));
            const index_t first_weight =
                work.equal_planes.stored(z) * box_rows.rows * box_rows.count;
            for (index_t y = 0; y < box_rows.rows; ++y)
                for (index_t x = 0; x < box_rows.count; ++x, ++i) {
                    const index_t at = (box_rows.first_row + y) * pitch_ + box_rows.first_x + x;
                    after[static_cast<std::size_t>(at)] = stored_sample(
                        work, i, first_weight + y * box_rows.count + x, plane[at], found);
                }
            std::copy_n(after.data(), plane_, plane);
        }
        if (sums != nullptr) std::copy_n(found, 2, sums);
    });
    return 1;
}

void DevicePlanePasses::inverse(PlaneKind kind, const SlotRange& slots, float* target,
                                cudaStream_t stream) const {
    enqueue(stream, [=, this, box_rows = area_of(kind)] {
        for (index_t z = 0, i = 0; z < slots.count; ++z) {
            double* const plane =
                samples_of(ring(slots.ring) + (slots.first + z) % slots_ * plane_);
            for (index_t y = 0; y < box_rows.rows; ++y)
                for (index_t x = 0; x < box_rows.count; ++x, ++i)
                    target[i] = static_cast<float>(
                        plane[(box_rows.first_row + y) * pitch_ + box_rows.first_x + x]);
            std::fill_n(plane, plane_, nothing);
        }
    });
}

}  // namespace convolume::deconvolve
