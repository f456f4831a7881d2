// SPDX-License-Identifier: Apache-2.0
// The fallback for lengths that our own passes do not support. cuFFT transforms the padded block
// and the padded kernel in place, with 64-bit sizes and a work area that we provide.

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "gpu/fft/pixel.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/cufft_library.hpp"
#include "gpu/runtime/grid.cuh"
#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

namespace {

/// Padded planes: rows of `length` samples (Real, or complex if Sample is), `pitch` samples apart.
struct PaddedPlanes {
    void* data;
    index_t rows, length, pitch;  ///< `length` and `pitch` in samples
};

template <class Real, class Sample>
__global__ void pad_cuda_kernel(RowSource source, PaddedPlanes target, LoadRule<Real> rule) {
    const index_t count = source.planes * target.rows * target.pitch;
    for (index_t i = first_item(); i < count; i += item_step()) {
        const index_t x = i % target.pitch;
        const index_t row = i / target.pitch;
        const index_t y = row % target.rows;
        const index_t z = row / target.rows;
        Complex<Real> value{};
        if (y < source.loaded_y && x < source.loaded_x) {
            const index_t from_y = source.gather_y ? source.gather_y[y] : y;
            const index_t from_x = source.gather_x ? source.gather_x[x] : x;
            if (from_y >= 0 && from_x >= 0)
                value = load_pixel<Real>(
                    source.pixels.data, source.pixels.type,
                    z * source.pixels.plane_stride + from_y * source.pixels.row_stride + from_x,
                    rule, source.pixels.storage);
        }
        if constexpr (is_complex_pixel<Sample>)
            static_cast<Sample*>(target.data)[i] = value;
        else
            static_cast<Sample*>(target.data)[i] = value.re;
    }
}

template <class Real, class Sample>
__global__ void crop_cuda_kernel(PaddedPlanes source, RowTarget target, double scale) {
    const index_t count = target.planes * target.kept_y * target.kept_x;
    ClampTally tally;
    for (index_t i = first_item(); i < count; i += item_step()) {
        const index_t x = i % target.kept_x;
        const index_t row = i / target.kept_x;
        const index_t y = row % target.kept_y;
        const index_t z = row / target.kept_y;
        const index_t at =
            (z * source.rows + y + target.kept_begin_y) * source.pitch + x + target.kept_begin_x;
        Complex<Real> value{};
        if constexpr (is_complex_pixel<Sample>)
            value = static_cast<const Sample*>(source.data)[at];
        else
            value.re = static_cast<const Sample*>(source.data)[at];
        value.re = value.re * static_cast<Real>(scale) + static_cast<Real>(target.add_real);
        value.im = value.im * static_cast<Real>(scale) + static_cast<Real>(target.add_imaginary);
        store_pixel(target.pixels.data, target.pixels.type,
                    z * target.pixels.plane_stride + y * target.pixels.row_stride + x, value, tally,
                    target.pixels.storage);
    }
    if (target.clamped && tally.low) atomicAdd(&target.clamped[0], tally.low);
    if (target.clamped && tally.high) atomicAdd(&target.clamped[1], tally.high);
}

template <class Real>
__global__ void multiply_cuda_kernel(Complex<Real>* data, const Complex<Real>* kernel,
                                     index_t count) {
    for (index_t i = first_item(); i < count; i += item_step()) data[i] = data[i] * kernel[i];
}

/// The cuFFT plans of one grid, for several CUDA streams. Only one transform is enqueued at a time.
class GridPlans {
  public:
    GridPlans(const Shape3& grid, bool complex_data, bool single) {
        long long n[3] = {grid.z, grid.y, grid.x};
        long long spectrum[3] = {grid.z, grid.y, complex_data ? grid.x : grid.x / 2 + 1};
        long long real[3] = {grid.z, grid.y, 2 * spectrum[2]};
        const auto plan = [&](cufftType type, long long* from, long long* to) {
            return CufftPlan(3, n, {from, from[0] * from[1] * from[2]}, {to, to[0] * to[1] * to[2]},
                             type, 1);
        };
        if (complex_data) {
            forward_ = plan(single ? CUFFT_C2C : CUFFT_Z2Z, spectrum, spectrum);
        } else {
            forward_ = plan(single ? CUFFT_R2C : CUFFT_D2Z, real, spectrum);
            inverse_ = plan(single ? CUFFT_C2R : CUFFT_Z2D, spectrum, real);
        }
        complex_data_ = complex_data;
    }

    index_t work_bytes() const { return std::max(forward_.work_bytes(), inverse_.work_bytes()); }

    void execute(bool forward, void* data, void* work, cudaStream_t stream) {
        const std::lock_guard lock(mutex_);
        const CufftPlan& plan = forward || complex_data_ ? forward_ : inverse_;
        plan.execute(data, data, work, forward ? CUFFT_FORWARD : CUFFT_INVERSE, stream);
    }

  private:
    bool complex_data_ = false;
    CufftPlan forward_, inverse_;  // for complex data, `forward_` transforms both ways
    std::mutex mutex_;
};

// cuFFT plans take long to make, so the last few are kept. They are never destroyed at the end of
// the process, because cuFFT may be unloaded before.
std::shared_ptr<GridPlans> plans_for(int device, const Shape3& grid, bool complex_data,
                                     bool single) {
    using Key = std::tuple<int, index_t, index_t, index_t, bool, bool>;
    static std::mutex mutex;
    static auto& kept_plans = *new std::map<Key, std::shared_ptr<GridPlans>>;
    constexpr std::size_t largest_count = 8;
    const std::lock_guard lock(mutex);
    const Key key{device, grid.z, grid.y, grid.x, complex_data, single};
    if (const auto found = kept_plans.find(key); found != kept_plans.end()) return found->second;
    if (kept_plans.size() >= largest_count) kept_plans.clear();
    return kept_plans[key] = std::make_shared<GridPlans>(grid, complex_data, single);
}

template <class Real>
class CufftTransform : public RingTransform {
  public:
    CufftTransform(const Block& block, const BlockGeometry& geometry, int device)
        : RingTransform(block, geometry),
          plans_(plans_for(device, block.grid(), block.complex_data, sizeof(Real) == 4)) {
        if (plans_->work_bytes() > geometry.batch_bytes)
            throw OutOfMemory(
                message("cuFFT needs ", format_bytes(plans_->work_bytes()), " beside a grid of ",
                        to_string(block.grid()), ": use method tiled, or more parts"),
                MemoryKind::gpu);
    }

    void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                 cudaStream_t stream) const override {
        check(cudaMemsetAsync(memory.kernel, 0, static_cast<std::size_t>(geometry_.kernel_bytes),
                              stream),
              "clearing the kernel");
        const RowSource source = row_source(taps, block_.grid());
        // The taps are shifted along z plane by plane. This is rare.
        const index_t length = geometry_.z_length;
        RowSource plane = source;
        plane.planes = 1;
        for (index_t z = 0; z < source.planes; ++z) {
            const index_t slot = (z - geometry_.kernel_shift % length + length) % length;
            plane.pixels = source.pixels.from_plane(z);
            pad_planes(plane, memory.kernel + slot * geometry_.plane_bytes(), stream);
        }
        plans_->execute(true, memory.kernel, memory.batch, stream);
    }

    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        pad_planes(source, memory.ring + first_slot * geometry_.plane_bytes(), stream);
    }

    void convolve(const ZWindow& window, const BlockMemory& memory,
                  cudaStream_t stream) const override {
        load_zeros(window.loaded_end, geometry_.ring - window.loaded_end, memory, stream);
        plans_->execute(true, memory.ring, memory.batch, stream);
        const index_t count = geometry_.ring * geometry_.plane;
        multiply_cuda_kernel<Real><<<grid_blocks(count), grid_threads, 0, stream>>>(
            reinterpret_cast<Complex<Real>*>(memory.ring),
            reinterpret_cast<const Complex<Real>*>(memory.kernel), count);
        check(cudaGetLastError(), "multiplying spectra");
        plans_->execute(false, memory.ring, memory.batch, stream);
    }

    void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
               cudaStream_t stream) const override {
        const Shape3 grid = block_.grid();
        const double scale = 1 / (static_cast<double>(grid.z) * static_cast<double>(grid.y) *
                                  static_cast<double>(grid.x));
        // Results are at their grid positions, not from slot 0 on.
        const index_t plane = block_.axes[0].kept_begin + first_slot;
        const PaddedPlanes from = planes(memory.ring + plane * geometry_.plane_bytes());
        const unsigned blocks = grid_blocks(target.planes * target.kept_y * target.kept_x);
        if (block_.complex_data)
            crop_cuda_kernel<Real, Complex<Real>>
                <<<blocks, grid_threads, 0, stream>>>(from, target, scale);
        else
            crop_cuda_kernel<Real, Real><<<blocks, grid_threads, 0, stream>>>(from, target, scale);
        check(cudaGetLastError(), "storing results");
    }

  private:
    PaddedPlanes planes(void* data) const {
        const index_t pitch = geometry_.pitch * (block_.complex_data ? 1 : 2);
        return {data, geometry_.rows, block_.axes[2].grid, pitch};
    }

    void pad_planes(const RowSource& source, void* data, cudaStream_t stream) const {
        const PaddedPlanes target = planes(data);
        const LoadRule<Real> rule{static_cast<Real>(source.subtract), source.nonfinite_to_zero};
        const unsigned blocks = grid_blocks(source.planes * target.rows * target.pitch);
        if (block_.complex_data)
            pad_cuda_kernel<Real, Complex<Real>>
                <<<blocks, grid_threads, 0, stream>>>(source, target, rule);
        else
            pad_cuda_kernel<Real, Real><<<blocks, grid_threads, 0, stream>>>(source, target, rule);
        check(cudaGetLastError(), "loading planes");
    }

    std::shared_ptr<GridPlans> plans_;
};

}  // namespace

std::unique_ptr<BlockTransform> make_cufft_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device) {
    if (block.precision == Precision::float32)
        return std::make_unique<CufftTransform<float>>(block, geometry, device);
    return std::make_unique<CufftTransform<double>>(block, geometry, device);
}

}  // namespace convolume::gpu
