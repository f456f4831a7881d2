// SPDX-License-Identifier: Apache-2.0
// Direct sums in time on a GPU, for short filters.

#include <algorithm>
#include <limits>
#include <vector>

#include "convolume/cuda/detail/segment_device.cuh"
#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/signals/device_filters.hpp"
#include "gpu/signals/direct_kernel.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t most_taps = 1024;

template <class Real, class Sample, bool any_storage>
__global__ void __launch_bounds__(SumsShape<Sample>::threads, 2)
    sums_cuda_kernel(const __grid_constant__ SumsJob<Real> job) {
    sum_filters_directly<Real, Sample, any_storage>(SegmentBlock{}, job);
}

template <class Real, class Sample>
class SumsFilters : public DeviceFilters {
  public:
    using Shape = SumsShape<Sample>;

    SumsFilters(const FilterSpec& spec, const void* taps, DevicePool& pool, cudaStream_t stream)
        : spec_(spec), taps_padded_(static_cast<int>(round_up(spec.taps, Shape::results))) {
        const index_t groups = ceil_div(spec.filters, Shape::filters);
        std::vector<Sample> host(static_cast<std::size_t>(groups * Shape::filters * taps_padded_),
                                 Sample{});
        const auto* const from = static_cast<const Sample*>(taps);
        for (index_t f = 0; f < spec.filters; ++f)
            for (index_t k = 0; k < spec.taps; ++k)
                host[static_cast<std::size_t>((f / Shape::filters * taps_padded_ + k) *
                                                  Shape::filters +
                                              f % Shape::filters)] = from[f * spec.taps + k];
        bytes_ = static_cast<index_t>(host.size() * sizeof(Sample));
        device_taps_ = pool.take(bytes_, "filters");
        copy_to_device(device_taps_.get(), host.data(), bytes_, stream);
        for (const CudaKernel kernel : {cuda_kernel(true), cuda_kernel(false)})
            allow_shared_bytes(reinterpret_cast<const void*>(kernel),
                               Shape::shared_bytes(taps_padded_),
                               "setting the shared memory of sums");
    }

    index_t workspace_bytes(index_t, index_t) const override { return 0; }
    index_t outputs_step() const override { return Shape::block_results; }
    index_t bytes() const override { return bytes_; }

    void run(const SignalView& signal, const FilterResult& result, char*,
             cudaStream_t stream) const override {
        SumsJob<Real> job;
        set_signal_and_result(signal, result, spec_, job);
        job.taps = device_taps_.get();
        job.filters = static_cast<int>(spec_.filters);
        job.taps_padded = taps_padded_;
        job.thread_blocks_per_signal = ceil_div(result.range.count(), Shape::block_results);
        job.power = spec_.power;
        if (spec_.window.kind == WindowPost::Kind::decimate)
            job.window_length = spec_.window.length;
        const index_t blocks = checked_multiply(signal.signals, job.thread_blocks_per_signal);
        cuda_kernel(
            job.storage.is_plain())<<<grid_of(blocks, "results"), Shape::threads,
                                      static_cast<std::size_t>(Shape::shared_bytes(taps_padded_)),
                                      stream>>>(job);
        check(cudaGetLastError(), "summing in time");
    }

  private:
    using CudaKernel = void (*)(SumsJob<Real>);
    static CudaKernel cuda_kernel(bool is_plain) {
        if constexpr (std::is_same_v<Real, float>) {
            if (!is_plain) return sums_cuda_kernel<Real, Sample, true>;
        }
        return sums_cuda_kernel<Real, Sample, false>;
    }

    FilterSpec spec_;
    int taps_padded_;
    DevicePool::BorrowedMemory device_taps_;
    index_t bytes_ = 0;
};

index_t shared_bytes(const FilterSpec& spec) {
    const auto bytes_for = [&](auto sample) {
        using Shape = SumsShape<decltype(sample)>;
        return Shape::shared_bytes(static_cast<int>(round_up(spec.taps, Shape::results)));
    };
    if (spec.precision == Precision::float32)
        return spec.complex_data ? bytes_for(Complex<float>{}) : bytes_for(float{});
    return spec.complex_data ? bytes_for(Complex<double>{}) : bytes_for(double{});
}

}  // namespace

std::optional<FilterCost> estimate_sums(const FilterSpec& spec, index_t signals, index_t outputs,
                                        const FilterRates& rates) {
    if (spec.method != FilterMethod::automatic && spec.method != FilterMethod::direct)
        return std::nullopt;
    if (spec.segment != 0 || spec.function || spec.window.kind == WindowPost::Kind::peak ||
        spec.taps > most_taps || shared_bytes(spec) > rates.shared_bytes ||
        spec.filters > std::numeric_limits<int>::max() / 8)
        return std::nullopt;
    constexpr GpuFilterTimes times;
    const index_t results_each =
        spec.complex_data ? SumsShape<Complex<float>>::results : SumsShape<float>::results;
    // Products of one result of every filter; one thread block sums those of its results.
    const double products = static_cast<double>(round_up(spec.filters, SumsShape<float>::filters)) *
                            static_cast<double>(round_up(spec.taps, results_each)) *
                            (spec.complex_data ? 4 : 1) *
                            (spec.precision == Precision::float32 ? 1 : 2);
    const double rate = times.sum_products_per_s * rates.speed;
    const double block_results = static_cast<double>(results_each * SumsShape<float>::threads);
    const double compute = std::max(products * static_cast<double>(signals) *
                                        static_cast<double>(outputs) / (rate * rates.processors),
                                    products * block_results / (rate * times.sum_lone_share));
    const double moving =
        moved_bytes(spec, signals, outputs) / (times.sum_memory_share * rates.memory_bytes_per_s);
    FilterCost cost;
    cost.method = FilterMethod::direct;
    cost.seconds = std::max(compute, moving) + times.sum_not_hidden * std::min(compute, moving) +
                   times.sum_launch_s;
    cost.work_bytes = checked_multiply(spec.filters, spec.taps) * sample_bytes(spec);
    cost.description = "sums in time";
    return cost;
}

std::unique_ptr<DeviceFilters> make_sums_filters(const FilterSpec& spec, const void* taps,
                                                 DevicePool& pool, cudaStream_t stream) {
    if (spec.precision == Precision::float32) {
        if (spec.complex_data)
            return std::make_unique<SumsFilters<float, Complex<float>>>(spec, taps, pool, stream);
        return std::make_unique<SumsFilters<float, float>>(spec, taps, pool, stream);
    }
    if (spec.complex_data)
        return std::make_unique<SumsFilters<double, Complex<double>>>(spec, taps, pool, stream);
    return std::make_unique<SumsFilters<double, double>>(spec, taps, pool, stream);
}

}  // namespace convolume::gpu
