// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/device_filters.hpp"

#include <limits>

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/fault.hpp"

namespace convolume::gpu {

FilterRates filter_rates(const DeviceProperties& properties) {
    FilterRates rates;
    rates.processors = properties.processors;
    rates.memory_bytes_per_s = properties.memory_bytes_per_s * GpuFilterTimes{}.memory_share;
    const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, properties.number);
    // The CUDA kernels for segments need compute capability 8.
    rates.shared_bytes = properties.compute_major >= 8 ? most : 0;
    return rates;
}

unsigned grid_of(index_t blocks, const char* of, const char* cure) {
    if (blocks > std::numeric_limits<int>::max())
        throw InvalidArgument(
            message(blocks, " thread blocks of ", of, " are more than a GPU can launch", cure));
    return static_cast<unsigned>(blocks);
}

std::optional<FilterCost> estimate_device_filters(const FilterSpec& spec, index_t signals,
                                                  index_t outputs, const FilterRates& rates,
                                                  index_t memory_bytes) {
    std::optional<FilterCost> best;
    for (const auto estimate : {estimate_segments, estimate_sums, estimate_cufft}) {
        const auto cost = estimate(spec, signals, outputs, rates);
        if (cost && memory_bytes > 0 && cost->work_bytes > memory_bytes) continue;
        if (cost && (!best || cost->seconds < best->seconds)) best = cost;
    }
    return best;
}

std::unique_ptr<DeviceFilters> make_device_filters(const FilterSpec& spec, const void* taps,
                                                   const FilterRates& rates, DevicePool& pool,
                                                   cudaStream_t stream) {
    if (spec.method == FilterMethod::direct) return make_sums_filters(spec, taps, pool, stream);
    if (spec.method == FilterMethod::overlap_save && estimate_segments(spec, 1, 1, rates))
        return make_segment_filters(spec, taps, rates, pool, stream);
    return make_cufft_filters(spec, taps, rates, pool, stream);
}

void copy_to_device(char* target, const void* source, index_t bytes, cudaStream_t stream) {
    check(fault_due(InjectedFault::transfer)
              ? cudaErrorUnknown
              : cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes),
                                cudaMemcpyHostToDevice, stream),
          "copying filters to the GPU");
    check(cudaStreamSynchronize(stream), "copying filters to the GPU");
}

}  // namespace convolume::gpu
