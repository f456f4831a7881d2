// SPDX-License-Identifier: Apache-2.0
// Overlap-save with segments in shared memory.

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "gpu/runtime/check.hpp"
#include "gpu/signals/segment_layout.hpp"
#include "gpu/signals/segment_twiddles.hpp"

namespace convolume::gpu {

namespace {

// The table of twiddle factors, on the current device; kept until the process ends.
template <class Real>
const Complex<Real>* device_twiddles(int n, cudaStream_t stream) {
    static std::mutex mutex;
    // Never destroyed: at the end of the process the device may be gone before.
    static auto& tables = *new std::map<std::pair<int, int>, DeviceMemory>;
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    const std::lock_guard lock(mutex);
    DeviceMemory& table = tables[{device, n}];
    if (table.bytes() == 0) {
        const std::vector<Complex<Real>> host = segment_twiddles<Real>(segment_plan(n));
        const auto bytes = static_cast<index_t>(host.size() * sizeof(host[0]));
        DeviceMemory memory(device, bytes);
        copy_to_device(memory.data(), host.data(), bytes, stream);
        table = std::move(memory);
    }
    return reinterpret_cast<const Complex<Real>*>(table.data());
}

void launch(const void* kernel, index_t blocks, const SegmentKernel& shape, void** arguments,
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
        twiddles_ = device_twiddles<Real>(kernel_.n, stream);
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
        job.source = signal.data;
        job.source_stride = signal.stride;
        job.first = signal.first;
        job.count = signal.count;
        job.twiddles = twiddles_;
        job.spectra = reinterpret_cast<const Complex<Real>*>(spectra_.get());
        job.target = result.data;
        job.positions = result.peak_positions;
        job.signal_stride = result.signal_stride;
        job.filter_stride = result.filter_stride;
        job.begin = result.range.begin;
        job.end = result.range.end;
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
                static_cast<const FunctionKernels*>(work_.function->device_kernels())->function;
        void* arguments[] = {&job, const_cast<void*>(function)};
        launch(kernel_.filter, layout->blocks, kernel_, arguments, stream);
    }

  private:
    static const SegmentKernel* kernel_of(const FilterWork& work) {
        for (const SegmentKernel& kernel : segment_kernels(work))
            if (kernel.n == work.segment) return &kernel;
        throw InternalError(message("no kernel has segments of ", work.segment));
    }

    FilterWork work_;
    FilterRates rates_;
    const SegmentKernel& kernel_;
    DevicePool::Lease spectra_;
    index_t bytes_ = 0;
    const Complex<Real>* twiddles_ = nullptr;
};

}  // namespace

const std::vector<SegmentKernel>& segment_kernels(const FilterWork& work) {
    if (work.function) {
        static const std::vector<SegmentKernel> none;
        const auto* const own =
            static_cast<const FunctionKernels*>(work.function->device_kernels());
        return own ? own->segments : none;
    }
    if (work.precision == Precision::float32)
        return work.complex_data ? plain_segment_kernels<float, true>()
                                 : plain_segment_kernels<float, false>();
    return work.complex_data ? plain_segment_kernels<double, true>()
                             : plain_segment_kernels<double, false>();
}

std::unique_ptr<DeviceFilters> make_segment_filters(const FilterWork& work, const void* taps,
                                                    const FilterRates& rates, DevicePool& pool,
                                                    cudaStream_t stream) {
    if (work.precision == Precision::float32)
        return std::make_unique<SegmentFilters<float>>(work, taps, rates, pool, stream);
    return std::make_unique<SegmentFilters<double>>(work, taps, rates, pool, stream);
}

}  // namespace convolume::gpu
