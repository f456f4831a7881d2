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

template <class Real, class Sample>
__global__ void __launch_bounds__(SumsShape<Sample>::threads, 2)
    sums_kernel(const __grid_constant__ SumsJob<Real> job) {
    sum_in_time<Real, Sample>(SegmentBlock{}, job);
}

template <class Real, class Sample>
class SumsFilters : public DeviceFilters {
  public:
    using Shape = SumsShape<Sample>;

    SumsFilters(const FilterWork& work, const void* taps, DevicePool& pool, cudaStream_t stream)
        : work_(work), taps_padded_(static_cast<int>(round_up(work.taps, Shape::results))) {
        const index_t groups = ceil_div(work.filters, Shape::filters);
        std::vector<Sample> host(static_cast<std::size_t>(groups * Shape::filters * taps_padded_),
                                 Sample{});
        const auto* const from = static_cast<const Sample*>(taps);
        for (index_t f = 0; f < work.filters; ++f)
            for (index_t k = 0; k < work.taps; ++k)
                host[static_cast<std::size_t>((f / Shape::filters * taps_padded_ + k) *
                                                  Shape::filters +
                                              f % Shape::filters)] = from[f * work.taps + k];
        bytes_ = static_cast<index_t>(host.size() * sizeof(Sample));
        on_device_ = pool.take(bytes_, "filters");
        copy_to_device(on_device_.get(), host.data(), bytes_, stream);
        check(cudaFuncSetAttribute(sums_kernel<Real, Sample>,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(Shape::shared_bytes(taps_padded_))),
              "setting the shared memory of sums");
    }

    index_t workspace_bytes(index_t, index_t) const override { return 0; }
    index_t outputs_step() const override { return Shape::tile; }
    index_t bytes() const override { return bytes_; }

    void run(const SignalView& signal, const FilterResult& result, char*,
             cudaStream_t stream) const override {
        SumsJob<Real> job;
        set_signal_and_result(signal, result, job);
        job.taps = on_device_.get();
        job.filters = static_cast<int>(work_.filters);
        job.taps_padded = taps_padded_;
        job.tiles_per_signal = ceil_div(result.range.count(), Shape::tile);
        job.power = work_.power;
        if (work_.window.kind == WindowPost::Kind::decimate)
            job.window_length = work_.window.length;
        const index_t blocks = checked_multiply(signal.signals, job.tiles_per_signal);
        if (blocks > std::numeric_limits<int>::max())
            throw InvalidArgument(message(blocks, " tiles of results are more than a GPU counts"));
        sums_kernel<Real, Sample>
            <<<static_cast<unsigned>(blocks), Shape::threads,
               static_cast<std::size_t>(Shape::shared_bytes(taps_padded_)), stream>>>(job);
        check(cudaGetLastError(), "summing in time");
    }

  private:
    FilterWork work_;
    int taps_padded_;
    DevicePool::Lease on_device_;
    index_t bytes_ = 0;
};

index_t shared_bytes(const FilterWork& work) {
    const auto of = [&](auto sample) {
        using Shape = SumsShape<decltype(sample)>;
        return Shape::shared_bytes(static_cast<int>(round_up(work.taps, Shape::results)));
    };
    if (work.precision == Precision::float32)
        return work.complex_data ? of(Complex<float>{}) : of(float{});
    return work.complex_data ? of(Complex<double>{}) : of(double{});
}

}  // namespace

std::optional<FilterCost> estimate_sums(const FilterWork& work, index_t signals, index_t outputs,
                                        const FilterRates& rates) {
    if (work.method != FilterMethod::automatic && work.method != FilterMethod::direct)
        return std::nullopt;
    if (work.segment != 0 || work.function || work.window.kind == WindowPost::Kind::peak ||
        work.taps > most_taps || shared_bytes(work) > rates.shared_bytes ||
        work.filters > std::numeric_limits<int>::max() / 8)
        return std::nullopt;
    constexpr GpuFilterTimes times;
    const index_t results_each =
        work.complex_data ? SumsShape<Complex<float>>::results : SumsShape<float>::results;
    // Products of one result of every filter; one thread block sums those of a tile of results.
    const double products = static_cast<double>(round_up(work.filters, SumsShape<float>::filters)) *
                            static_cast<double>(round_up(work.taps, results_each)) *
                            (work.complex_data ? 4 : 1) *
                            (work.precision == Precision::float32 ? 1 : 2);
    const double rate = times.sum_products_per_s * rates.speed;
    const double tile = static_cast<double>(results_each * SumsShape<float>::threads);
    const double compute = std::max(products * static_cast<double>(signals) *
                                        static_cast<double>(outputs) / (rate * rates.processors),
                                    products * tile / (rate * times.sum_lone_share));
    const double moving =
        moved_bytes(work, signals, outputs) / (times.sum_memory_share * rates.memory_bytes_per_s);
    FilterCost cost;
    cost.method = FilterMethod::direct;
    cost.seconds = std::max(compute, moving) + times.sum_not_hidden * std::min(compute, moving) +
                   times.sum_launch_s;
    cost.work_bytes = checked_multiply(work.filters, work.taps) * sample_bytes(work);
    cost.description = "sums in time";
    return cost;
}

std::unique_ptr<DeviceFilters> make_sums_filters(const FilterWork& work, const void* taps,
                                                 DevicePool& pool, cudaStream_t stream) {
    if (work.precision == Precision::float32) {
        if (work.complex_data)
            return std::make_unique<SumsFilters<float, Complex<float>>>(work, taps, pool, stream);
        return std::make_unique<SumsFilters<float, float>>(work, taps, pool, stream);
    }
    if (work.complex_data)
        return std::make_unique<SumsFilters<double, Complex<double>>>(work, taps, pool, stream);
    return std::make_unique<SumsFilters<double, double>>(work, taps, pool, stream);
}

}  // namespace convolume::gpu
