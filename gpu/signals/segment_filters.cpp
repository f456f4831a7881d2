// SPDX-License-Identifier: Apache-2.0
// Overlap-save with segments in shared memory: division of results into segments and thread blocks,
// predicted time, and the filters of this method.

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/cuda/detail/segment_kernels.hpp"
#include "convolume/cuda/detail/segment_post.hpp"
#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

namespace {

struct SegmentLayout {
    const SegmentCudaKernels* cuda_kernel = nullptr;
    int skip = 0, useful = 0;  ///< positions as in SegmentJob
    int filters_per_block = 1;
    index_t segments_per_signal = 0;
    index_t blocks = 0;
    double seconds = 0;  ///< predicted seconds
};

// Returns the CUDA kernels that can filter as `spec` says, by increasing segment length; none if a
// caller's function has no CUDA kernels, or storage of 16 bits.
const std::vector<SegmentCudaKernels>& segment_cuda_kernels(const FilterSpec& spec) {
    if (spec.function) {
        static const std::vector<SegmentCudaKernels> none;
        const auto* const function_kernels =
            static_cast<const FunctionCudaKernels*>(spec.function->device_kernels());
        return function_kernels && spec.is_plain_storage() ? function_kernels->segments : none;
    }
    if (spec.precision == Precision::float32)
        return spec.complex_data ? plain_segment_kernels<float, true>()
                                 : plain_segment_kernels<float, false>();
    return spec.complex_data ? plain_segment_kernels<double, true>()
                             : plain_segment_kernels<double, false>();
}

double predicted_seconds(const FilterSpec& spec, const SegmentLayout& layout, index_t signals,
                         index_t outputs, const FilterRates& rates) {
    constexpr GpuFilterTimes times;
    const SegmentCudaKernels& cuda_kernel = *layout.cuda_kernel;
    std::size_t length = 0;
    while (256 << length < cuda_kernel.n) ++length;
    const double ns =
        (spec.complex_data ? times.segment_complex_ns : times.segment_real_ns)[length] *
        (spec.precision == Precision::float32 ? 1 : times.segment_double_factor);
    const auto blocks = static_cast<double>(ceil_div(layout.blocks, rates.processors));
    const double slots = cuda_kernel.blocks_per_unit;
    const double waves = std::ceil(blocks / slots), last = blocks - (waves - 1) * slots;
    const double crowded_blocks =
        (waves - 1) * slots +
        std::min(slots, last * (1 - times.segment_lone_share) + slots * times.segment_lone_share);
    const double transforms =
        cuda_kernel.segments * (layout.filters_per_block + times.segment_forward_share);
    const double compute =
        (times.segment_work_share * blocks + (1 - times.segment_work_share) * crowded_blocks) *
        transforms * cuda_kernel.n * ns * 1e-9 / rates.speed;
    return std::max(compute, moved_bytes(spec, signals, outputs) / rates.memory_bytes_per_s) +
           times.segment_launch_s;
}

// Returns the fastest layout with segments of `cuda_kernel`; nothing if such segments hold too few
// results.
std::optional<SegmentLayout> segment_layout(const FilterSpec& spec,
                                            const SegmentCudaKernels& cuda_kernel, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    // Segments start at whole lines of memory if there is room for them.
    const index_t aliased = spec.taps - 1 + halo_before(spec), after = halo_after(spec);
    const index_t line = cuda_kernel.n >= 512 ? 32 : 16;
    index_t skip = round_up(aliased, line);
    index_t useful = (cuda_kernel.n - skip - after) / line * line;
    if (useful < line) {
        skip = aliased;
        useful = cuda_kernel.n - skip - after;
    }
    if (spec.window.kind == WindowPost::Kind::peak)
        useful = useful / spec.window.length * spec.window.length;
    if (useful < 1 || useful < cuda_kernel.n / 16) return std::nullopt;

    SegmentLayout best;
    best.cuda_kernel = &cuda_kernel;
    best.skip = static_cast<int>(skip);
    best.useful = static_cast<int>(useful);
    best.segments_per_signal = ceil_div(outputs, useful);
    const index_t segments = checked_multiply(signals, best.segments_per_signal);
    const index_t per_block = cuda_kernel.segments * (spec.complex_data ? 1 : 2);
    bool first = true;
    for (index_t share = 1; share <= spec.filters && share <= 64; share *= 2) {
        SegmentLayout layout = best;
        layout.filters_per_block = static_cast<int>(ceil_div(spec.filters, share));
        layout.blocks =
            ceil_div(segments, per_block) * ceil_div(spec.filters, layout.filters_per_block);
        layout.seconds = predicted_seconds(spec, layout, signals, outputs, rates);
        if (first || layout.seconds < best.seconds) best = layout;
        first = false;
    }
    return best;
}

void launch_cuda_kernel(const void* cuda_kernel, index_t blocks, const SegmentCudaKernels& shape,
                        void** arguments, cudaStream_t stream) {
    check(shape.launch(shape, cuda_kernel, grid_of(blocks, "segments"), arguments, stream),
          "filtering segments");
}

template <class Real>
class SegmentFilters : public DeviceFilters {
  public:
    SegmentFilters(const FilterSpec& spec, const void* taps, const FilterRates& rates,
                   DevicePool& pool, cudaStream_t stream)
        : spec_(spec), rates_(rates), cuda_kernel_(*cuda_kernel_of(spec)) {
        const index_t taps_bytes = checked_multiply(spec.filters, spec.taps) * sample_bytes(spec);
        bytes_ = checked_multiply(spec.filters, cuda_kernel_.n) * index_t{sizeof(Complex<Real>)};
        spectra_ = pool.take(bytes_, "the spectra of filters");
        const DevicePool::BorrowedMemory device_taps = pool.take(taps_bytes, "filters");
        copy_to_device(device_taps.get(), taps, taps_bytes, stream);
        twiddles_ = device_twiddles<Real>(segment_plan(cuda_kernel_.n), stream);
        check(cuda_kernel_.set_up(cuda_kernel_), "setting the shared memory of segments");

        SpectraJob<Real> job;
        job.taps = device_taps.get();
        job.filters = static_cast<int>(spec.filters);
        job.taps_each = static_cast<int>(spec.taps);
        job.twiddles = twiddles_;
        job.spectra = reinterpret_cast<Complex<Real>*>(spectra_.get());
        void* arguments[] = {&job};
        launch_cuda_kernel(cuda_kernel_.spectra, ceil_div(spec.filters, cuda_kernel_.segments),
                           cuda_kernel_, arguments, stream);
        check(cudaStreamSynchronize(stream), "transforming filters");
    }

    index_t workspace_bytes(index_t, index_t) const override { return 0; }
    index_t bytes() const override { return bytes_; }
    index_t outputs_step() const override {
        return segment_layout(spec_, cuda_kernel_, 1, 1, rates_)->useful *
               (spec_.complex_data ? 1 : 2);
    }

    void run(const SignalView& signal, const FilterResult& result, char*,
             cudaStream_t stream) const override {
        const auto layout =
            segment_layout(spec_, cuda_kernel_, signal.signals, result.range.count(), rates_);
        SegmentJob<Real> job;
        set_signal_and_result(signal, result, spec_, job);
        job.twiddles = twiddles_;
        job.spectra = reinterpret_cast<const Complex<Real>*>(spectra_.get());
        job.positions = result.peak_positions;
        job.segments_per_signal = layout->segments_per_signal;
        job.segments = checked_multiply(signal.signals, layout->segments_per_signal);
        job.useful = layout->useful;
        job.skip = layout->skip;
        job.filters = static_cast<int>(spec_.filters);
        job.filters_per_block = layout->filters_per_block;
        job.power = spec_.power;
        job.window = spec_.window.kind;
        job.window_length = spec_.window.length;
        char none = 0;
        const void* function = &none;
        if (spec_.function)
            function =
                static_cast<const FunctionCudaKernels*>(spec_.function->device_kernels())->function;
        void* arguments[] = {&job, const_cast<void*>(function)};
        launch_cuda_kernel(job.storage.is_plain() ? cuda_kernel_.filter : cuda_kernel_.short_filter,
                           layout->blocks, cuda_kernel_, arguments, stream);
    }

  private:
    static const SegmentCudaKernels* cuda_kernel_of(const FilterSpec& spec) {
        for (const SegmentCudaKernels& cuda_kernel : segment_cuda_kernels(spec))
            if (cuda_kernel.n == spec.segment) return &cuda_kernel;
        throw InternalError(message("no CUDA kernel has segments of ", spec.segment));
    }

    FilterSpec spec_;
    FilterRates rates_;
    const SegmentCudaKernels& cuda_kernel_;
    DevicePool::BorrowedMemory spectra_;
    index_t bytes_ = 0;
    const Complex<Real>* twiddles_ = nullptr;
};

}  // namespace

std::optional<FilterCost> estimate_segments(const FilterSpec& spec, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    if (spec.method != FilterMethod::automatic && spec.method != FilterMethod::overlap_save)
        return std::nullopt;
    if (spec.filters > std::numeric_limits<int>::max()) return std::nullopt;
    std::optional<SegmentLayout> best;
    for (const SegmentCudaKernels& cuda_kernel : segment_cuda_kernels(spec)) {
        if (spec.segment != 0 && spec.segment != cuda_kernel.n) continue;
        if (cuda_kernel.shared_bytes > rates.shared_bytes) continue;
        const auto layout = segment_layout(spec, cuda_kernel, signals, outputs, rates);
        if (layout && (!best || layout->seconds < best->seconds)) best = layout;
    }
    if (!best) return std::nullopt;
    const int n = best->cuda_kernel->n;
    FilterCost cost;
    cost.method = FilterMethod::overlap_save;
    cost.segment = n;
    cost.seconds = best->seconds;
    cost.work_bytes =
        checked_multiply(spec.filters, n) * convolume::sample_bytes(spec.precision, true);
    cost.description = message("overlap-save, segments of ", n, " in shared memory");
    return cost;
}

std::unique_ptr<DeviceFilters> make_segment_filters(const FilterSpec& spec, const void* taps,
                                                    const FilterRates& rates, DevicePool& pool,
                                                    cudaStream_t stream) {
    if (spec.precision == Precision::float32)
        return std::make_unique<SegmentFilters<float>>(spec, taps, rates, pool, stream);
    return std::make_unique<SegmentFilters<double>>(spec, taps, rates, pool, stream);
}

}  // namespace convolume::gpu
