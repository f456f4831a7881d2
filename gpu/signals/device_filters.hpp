// SPDX-License-Identifier: Apache-2.0
#pragma once
// Banks of filters on one device, from device memory to device memory: one class for each method.

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>

#include "convolume/cuda/detail/stored_samples.hpp"
#include "core/filter_engine.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::gpu {

/// Rates of a device for the cost models.
struct FilterRates {
    int processors = 1;
    double memory_bytes_per_s = 0;  ///< rate that plain reading and writing reaches
    double speed = 1;               ///< speed of one multiprocessor, relative to an H200
    index_t shared_bytes = 232448;  ///< shared memory that a thread block may have
};
FilterRates filter_rates(const DeviceProperties& properties);

class DeviceFilters : public PreparedFilters {
  public:
    /// Returns the bytes of device memory that run() needs apart from signals and results.
    virtual index_t workspace_bytes(index_t signals, index_t outputs) const = 0;
    /// Returns the number of which the number of results should be a multiple.
    virtual index_t outputs_step() const = 0;
    /// Returns the bytes of device memory that the filters occupy.
    virtual index_t bytes() const = 0;

    /// Enqueues the filtering on `stream` of the current device; pointers are to device memory.
    virtual void run(const SignalView& signal, const FilterResult& result, char* workspace,
                     cudaStream_t stream) const = 0;
};

/// Predict the cost of `outputs` results of `signals` signals; nothing if the method cannot do what
/// `spec` says. spec.segment selects one of the method's transform lengths; 0: the fastest.
std::optional<FilterCost> estimate_segments(const FilterSpec& spec, index_t signals,
                                            index_t outputs, const FilterRates& rates);
std::optional<FilterCost> estimate_cufft(const FilterSpec& spec, index_t signals, index_t outputs,
                                         const FilterRates& rates);
std::optional<FilterCost> estimate_sums(const FilterSpec& spec, index_t signals, index_t outputs,
                                        const FilterRates& rates);

/// Returns the least cost that spec.method and the memory allow; memory_bytes 0: no limit.
std::optional<FilterCost> estimate_device_filters(const FilterSpec& spec, index_t signals,
                                                  index_t outputs, const FilterRates& rates,
                                                  index_t memory_bytes = 0);

/// Prepare filters; `spec` has the method and segment of an estimate, `taps` are in host memory.
/// Wait for the CUDA stream.
std::unique_ptr<DeviceFilters> make_segment_filters(const FilterSpec& spec, const void* taps,
                                                    const FilterRates& rates, DevicePool& pool,
                                                    cudaStream_t stream);
std::unique_ptr<DeviceFilters> make_cufft_filters(const FilterSpec& spec, const void* taps,
                                                  const FilterRates& rates, DevicePool& pool,
                                                  cudaStream_t stream);
std::unique_ptr<DeviceFilters> make_sums_filters(const FilterSpec& spec, const void* taps,
                                                 DevicePool& pool, cudaStream_t stream);
std::unique_ptr<DeviceFilters> make_device_filters(const FilterSpec& spec, const void* taps,
                                                   const FilterRates& rates, DevicePool& pool,
                                                   cudaStream_t stream);

inline index_t sample_bytes(const FilterSpec& spec) {
    return convolume::sample_bytes(spec.sample_type());
}
/// Return the neighbors before and after each sample that the caller's function reads.
inline index_t halo_before(const FilterSpec& spec) {
    return spec.function ? spec.function->before : 0;
}
inline index_t halo_after(const FilterSpec& spec) {
    return spec.function ? spec.function->after : 0;
}

/// Returns the bytes of signals that are read and of results that are written.
inline double moved_bytes(const FilterSpec& spec, index_t signals, index_t outputs) {
    return static_cast<double>(signals) *
           (static_cast<double>(outputs * spec.signal_bytes()) +
            static_cast<double>(spec.filters * spec.window.stored(outputs) * spec.result_bytes()));
}

/// Returns the storage of signals and results in the arguments of a CUDA kernel.
inline StorageJob storage_job(const SignalView& signal, const FilterResult& result,
                              const FilterSpec& spec) {
    static_assert(sizeof(unsigned long long) == sizeof(index_t));
    return {signal.storage, spec.result_storage, static_cast<float>(1 / spec.result_scale),
            reinterpret_cast<unsigned long long*>(result.clamped)};
}

/// Sets the source and target in the arguments of a CUDA kernel.
template <class Job>
void set_signal_and_result(const SignalView& signal, const FilterResult& result,
                           const FilterSpec& spec, Job& job) {
    job.storage = storage_job(signal, result, spec);
    job.source = signal.data;
    job.source_stride = signal.stride;
    job.first = signal.first;
    job.count = signal.count;
    job.target = result.data;
    job.signal_stride = result.signal_stride;
    job.filter_stride = result.filter_stride;
    job.begin = result.range.begin;
    job.end = result.range.end;
}

/// Returns a number of thread blocks, which compute `of`. Throws InvalidArgument, with `cure`, if
/// they are more than a GPU can launch.
unsigned grid_of(index_t blocks, const char* of, const char* cure = "");

/// Copies host memory to the device; returns when this is done.
void copy_to_device(char* target, const void* source, index_t bytes, cudaStream_t stream);

}  // namespace convolume::gpu
