// SPDX-License-Identifier: Apache-2.0
// Resampling of signals in a GPU's memory.

#include <limits>
#include <vector>

#include "convolume/cuda/detail/segment_device.cuh"
#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/signals/device_filters.hpp"
#include "gpu/signals/resample_kernel.hpp"

namespace convolume::gpu {

namespace {

// Shared memory of a thread block that leaves room for two of them on a multiprocessor.
constexpr index_t shared_limit = 96 << 10;

template <class Sample, class Tap>
using PhaseKernel = void (*)(PhaseJob<Sample, Tap>);

template <int rows, bool has_taps, bool is_padded, class Sample, class Tap>
__global__ void __launch_bounds__(PhaseShape::threads)
    tile_cuda_kernel(const __grid_constant__ PhaseJob<Sample, Tap> job) {
    sum_phases_of_tile<rows, has_taps, is_padded>(SegmentBlock{}, job);
}
template <class Sample, class Tap>
__global__ void __launch_bounds__(PhaseShape::threads)
    phase_cuda_kernel(const __grid_constant__ PhaseJob<Sample, Tap> job) {
    sum_phases_without_tile(SegmentBlock{}, job);
}

template <class Sample, class Tap>
PhaseKernel<Sample, Tap> kernel_of(const PhaseShape& shape) {
    if (!shape.has_tile) return phase_cuda_kernel<Sample, Tap>;
    if (shape.rows == 4)
        return shape.is_padded ? tile_cuda_kernel<4, true, true, Sample, Tap>
                               : tile_cuda_kernel<4, true, false, Sample, Tap>;
    if (shape.has_taps)
        return shape.is_padded ? tile_cuda_kernel<1, true, true, Sample, Tap>
                               : tile_cuda_kernel<1, true, false, Sample, Tap>;
    return shape.is_padded ? tile_cuda_kernel<1, false, true, Sample, Tap>
                           : tile_cuda_kernel<1, false, false, Sample, Tap>;
}

template <class Sample>
Sample sample_of(std::complex<double> value) {
    if constexpr (std::is_floating_point_v<Sample>)
        return static_cast<Sample>(value.real());
    else
        return {static_cast<decltype(Sample::re)>(value.real()),
                static_cast<decltype(Sample::re)>(value.imag())};
}

template <class Sample, class Tap>
class DevicePhases : public DeviceResampling {
  public:
    DevicePhases(int device, const ResampleSpec& spec, const ConstImageView& taps)
        : device_(device), spec_(spec) {
        const DeviceScope scope(device);
        const index_t most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        shape_ = phase_shape(spec, sizeof(Sample), sizeof(Tap), std::min(shared_limit, most));
        const index_t cycle = spec.cycle(), per_phase = spec.taps_per_phase();
        if (cycle > std::numeric_limits<int>::max() / per_phase)
            throw InvalidArgument(message("the taps of ", cycle, " phases are too many for a GPU"));
        std::vector<std::complex<double>> h(static_cast<std::size_t>(spec.taps));
        pixels::load_row(taps, 0, 0, pixels::RowGather(identity_indices(spec.taps)), {}, h.data());
        std::vector<Tap> table(static_cast<std::size_t>(cycle * per_phase));
        for (index_t j = 0; j < per_phase; ++j)
            for (index_t n = 0; n < cycle; ++n) {
                const index_t tap = spec.phase(n) + j * spec.options.up;
                if (tap < spec.taps)
                    table[static_cast<std::size_t>(j * cycle + n)] =
                        sample_of<Tap>(h[static_cast<std::size_t>(tap)]);
            }
        const auto bytes = static_cast<index_t>(table.size() * sizeof(Tap));
        taps_ = DeviceMemory(device, bytes, "taps");
        const CudaStream stream;
        copy_to_device(taps_.data(), table.data(), bytes, stream);
        allow_shared_bytes(reinterpret_cast<const void*>(kernel_of<Sample, Tap>(shape_)),
                           shape_.shared_bytes, "setting the shared memory of resampling");
    }

    index_t bytes() const override { return taps_.bytes(); }

    void run(const void* samples, const SignalShape& shape, void* results, index_t count,
             void* stream) const override {
        const index_t per_signal = ceil_div(count, shape_.block_results());
        const index_t blocks = checked_multiply(shape.signals, per_signal);
        if (blocks == 0) return;
        PhaseJob<Sample, Tap> job;
        job.source = static_cast<const Sample*>(samples);
        job.taps = taps_.as<Tap>();
        job.target = static_cast<Sample*>(results);
        job.results = count;
        job.blocks_per_signal = per_signal;
        job.up = spec_.options.up;
        job.down = spec_.options.down;
        job.origin = spec_.options.origin;
        job.tile_bytes = shape_.tile_bytes;
        job.taps_per_phase = static_cast<int>(spec_.taps_per_phase());
        job.cycle = static_cast<int>(spec_.cycle());
        job.samples_per_cycle = static_cast<int>(spec_.samples_per_cycle());
        job.columns = shape_.columns;
        job.signal = {spec_.options.extension, sample_of<Sample>(spec_.options.value),
                      shape.samples};
        const DeviceScope scope(device_);
        kernel_of<Sample, Tap>(shape_)<<<grid_of(blocks, "results"), PhaseShape::threads,
                                         static_cast<std::size_t>(shape_.shared_bytes),
                                         static_cast<cudaStream_t>(stream)>>>(job);
        check(cudaGetLastError(), "resampling");
    }

  private:
    int device_;
    ResampleSpec spec_;
    PhaseShape shape_;
    DeviceMemory taps_;
};

template <class Real>
std::unique_ptr<DeviceResampling> make_phases(int device, const ResampleSpec& spec,
                                              const ConstImageView& taps) {
    if (spec.complex_taps)
        return std::make_unique<DevicePhases<Complex<Real>, Complex<Real>>>(device, spec, taps);
    if (spec.complex_data)
        return std::make_unique<DevicePhases<Complex<Real>, Real>>(device, spec, taps);
    return std::make_unique<DevicePhases<Real, Real>>(device, spec, taps);
}

}  // namespace

std::unique_ptr<DeviceResampling> make_device_resampling(int device, const ResampleSpec& spec,
                                                         const ConstImageView& taps) {
    require_device(device);
    return spec.options.precision == Precision::float32 ? make_phases<float>(device, spec, taps)
                                                        : make_phases<double>(device, spec, taps);
}

}  // namespace convolume::gpu
