// SPDX-License-Identifier: Apache-2.0
// Overlap-save with segments in shared memory: how results are cut into segments and given to
// thread blocks, how long that takes, and the filters of that method.

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
    const SegmentCudaKernels* kernel = nullptr;
    int skip = 0, useful = 0;  ///< see SegmentJob
    int filters_per_block = 1;
    index_t segments_per_signal = 0;
    index_t blocks = 0;
    double seconds = 0;  ///< predicted
};

// The CUDA kernels that can do the work, by rising segment length; none where a caller's function
// comes without its own.
const std::vector<SegmentCudaKernels>& segment_kernels(const FilterWork& work) {
    if (work.function) {
        static const std::vector<SegmentCudaKernels> none;
        const auto* const own =
            static_cast<const FunctionCudaKernels*>(work.function->device_kernels());
        return own ? own->segments : none;
    }
    if (work.precision == Precision::float32)
        return work.complex_data ? plain_segment_kernels<float, true>()
                                 : plain_segment_kernels<float, false>();
    return work.complex_data ? plain_segment_kernels<double, true>()
                             : plain_segment_kernels<double, false>();
}

double predicted_seconds(const FilterWork& work, const SegmentLayout& layout, index_t signals,
                         index_t outputs, const FilterRates& rates) {
    constexpr GpuFilterTimes times;
    const SegmentCudaKernels& kernel = *layout.kernel;
    std::size_t length = 0;
    while (256 << length < kernel.n) ++length;
    const double ns =
        (work.complex_data ? times.segment_complex_ns : times.segment_real_ns)[length] *
        (work.precision == Precision::float32 ? 1 : times.segment_double_factor);
    const auto blocks = static_cast<double>(ceil_div(layout.blocks, rates.processors));
    const double slots = kernel.blocks_per_unit;
    const double waves = std::ceil(blocks / slots), last = blocks - (waves - 1) * slots;
    const double crowd =
        (waves - 1) * slots +
        std::min(slots, last * (1 - times.segment_lone_share) + slots * times.segment_lone_share);
    const double transforms =
        kernel.segments * (layout.filters_per_block + times.segment_forward_share);
    const double compute =
        (times.segment_work_share * blocks + (1 - times.segment_work_share) * crowd) * transforms *
        kernel.n * ns * 1e-9 / rates.speed;
    return std::max(compute, moved_bytes(work, signals, outputs) / rates.memory_bytes_per_s) +
           times.segment_launch_s;
}

// The fastest layout with segments of `kernel`; nothing when they hold too few results.
std::optional<SegmentLayout> segment_layout(const FilterWork& work,
                                            const SegmentCudaKernels& kernel, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    // Whole lines of memory where there is room for them: reading and writing start at such.
    const index_t aliased = work.taps - 1 + halo_before(work), after = halo_after(work);
    const index_t line = kernel.n >= 512 ? 32 : 16;
    index_t skip = round_up(aliased, line);
    index_t useful = (kernel.n - skip - after) / line * line;
    if (useful < line) {
        skip = aliased;
        useful = kernel.n - skip - after;
    }
    if (work.window.kind == WindowPost::Kind::peak)
        useful = useful / work.window.length * work.window.length;
    if (useful < 1 || useful < kernel.n / 16) return std::nullopt;

    SegmentLayout best;
    best.kernel = &kernel;
    best.skip = static_cast<int>(skip);
    best.useful = static_cast<int>(useful);
    best.segments_per_signal = ceil_div(outputs, useful);
    const index_t segments = checked_multiply(signals, best.segments_per_signal);
    const index_t per_block = kernel.segments * (work.complex_data ? 1 : 2);
    bool first = true;
    for (index_t share = 1; share <= work.filters && share <= 64; share *= 2) {
        SegmentLayout layout = best;
        layout.filters_per_block = static_cast<int>(ceil_div(work.filters, share));
        layout.blocks =
            ceil_div(segments, per_block) * ceil_div(work.filters, layout.filters_per_block);
        layout.seconds = predicted_seconds(work, layout, signals, outputs, rates);
        if (first || layout.seconds < best.seconds) best = layout;
        first = false;
    }
    return best;
}

void launch(const void* kernel, index_t blocks, const SegmentCudaKernels& shape, void** arguments,
            cudaStream_t stream) {
    if (blocks > std::numeric_limits<int>::max())
        throw InvalidArgument(
            message(blocks, " thread blocks of segments are more than a GPU counts"));
    check(shape.launch(shape, kernel, static_cast<unsigned>(blocks), arguments, stream),
          "filtering segments");
}

template <class Real>
class SegmentFilters : public DeviceFilters {
  public:
    SegmentFilters(const FilterWork& work, const void* taps, const FilterRates& rates,
                   DevicePool& pool, cudaStream_t stream)
        : work_(work), rates_(rates), kernel_(*kernel_of(work)) {
        const index_t taps_bytes = checked_multiply(work.filters, work.taps) * sample_bytes(work);
        bytes_ = checked_multiply(work.filters, kernel_.n) * index_t{sizeof(Complex<Real>)};
        spectra_ = pool.take(bytes_, "the spectra of filters");
        const DevicePool::Lease on_device = pool.take(taps_bytes, "filters");
        copy_to_device(on_device.get(), taps, taps_bytes, stream);
        twiddles_ = device_twiddles<Real>(segment_plan(kernel_.n), stream);
        check(kernel_.set_up(kernel_), "setting the shared memory of segments");

        SpectraJob<Real> job;
        job.taps = on_device.get();
        job.filters = static_cast<int>(work.filters);
        job.taps_each = static_cast<int>(work.taps);
        job.twiddles = twiddles_;
        job.spectra = reinterpret_cast<Complex<Real>*>(spectra_.get());
        void* arguments[] = {&job};
        launch(kernel_.spectra, ceil_div(work.filters, kernel_.segments), kernel_, arguments,
               stream);
        check(cudaStreamSynchronize(stream), "transforming filters");
    }

    index_t workspace_bytes(index_t, index_t) const override { return 0; }
    index_t bytes() const override { return bytes_; }
    index_t outputs_step() const override {
        return segment_layout(work_, kernel_, 1, 1, rates_)->useful * (work_.complex_data ? 1 : 2);
    }

    void run(const SignalView& signal, const FilterResult& result, char*,
             cudaStream_t stream) const override {
        const auto layout =
            segment_layout(work_, kernel_, signal.signals, result.range.count(), rates_);
        SegmentJob<Real> job;
        set_signal_and_result(signal, result, job);
        job.twiddles = twiddles_;
        job.spectra = reinterpret_cast<const Complex<Real>*>(spectra_.get());
        job.positions = result.peak_positions;
        job.segments_per_signal = layout->segments_per_signal;
        job.segments = checked_multiply(signal.signals, layout->segments_per_signal);
        job.useful = layout->useful;
        job.skip = layout->skip;
        job.filters = static_cast<int>(work_.filters);
        job.filters_per_block = layout->filters_per_block;
        job.power = work_.power;
        job.window = work_.window.kind;
        job.window_length = work_.window.length;
        char none = 0;
        const void* function = &none;
        if (work_.function)
            function =
                static_cast<const FunctionCudaKernels*>(work_.function->device_kernels())->function;
        void* arguments[] = {&job, const_cast<void*>(function)};
        launch(kernel_.filter, layout->blocks, kernel_, arguments, stream);
    }

  private:
    static const SegmentCudaKernels* kernel_of(const FilterWork& work) {
        for (const SegmentCudaKernels& kernel : segment_kernels(work))
            if (kernel.n == work.segment) return &kernel;
        throw InternalError(message("no kernel has segments of ", work.segment));
    }

    FilterWork work_;
    FilterRates rates_;
    const SegmentCudaKernels& kernel_;
    DevicePool::Lease spectra_;
    index_t bytes_ = 0;
    const Complex<Real>* twiddles_ = nullptr;
};

}  // namespace

std::optional<FilterCost> estimate_segments(const FilterWork& work, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    if (work.method != FilterMethod::automatic && work.method != FilterMethod::overlap_save)
        return std::nullopt;
    if (work.filters > std::numeric_limits<int>::max()) return std::nullopt;
    std::optional<SegmentLayout> best;
    for (const SegmentCudaKernels& kernel : segment_kernels(work)) {
        if (work.segment != 0 && work.segment != kernel.n) continue;
        if (kernel.shared_bytes > rates.shared_bytes) continue;
        const auto layout = segment_layout(work, kernel, signals, outputs, rates);
        if (layout && (!best || layout->seconds < best->seconds)) best = layout;
    }
    if (!best) return std::nullopt;
    const int n = best->kernel->n;
    FilterCost cost;
    cost.method = FilterMethod::overlap_save;
    cost.segment = n;
    cost.seconds = best->seconds;
    cost.work_bytes =
        checked_multiply(work.filters, n) * convolume::sample_bytes(work.precision, true);
    cost.description = message("overlap-save, segments of ", n, " in shared memory");
    return cost;
}

std::unique_ptr<DeviceFilters> make_segment_filters(const FilterWork& work, const void* taps,
                                                    const FilterRates& rates, DevicePool& pool,
                                                    cudaStream_t stream) {
    if (work.precision == Precision::float32)
        return std::make_unique<SegmentFilters<float>>(work, taps, rates, pool, stream);
    return std::make_unique<SegmentFilters<double>>(work, taps, rates, pool, stream);
}

}  // namespace convolume::gpu
