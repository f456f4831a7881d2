// SPDX-License-Identifier: Apache-2.0
#pragma once
// The filter engine on one CUDA device: signals and results travel in chunks, several in flight.

#include <mutex>

#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfer_gate.hpp"
#include "gpu/signals/device_filters.hpp"

namespace convolume::gpu {

/// A bank on a device. Its work has the window that peaks are picked from at a time: shorter than
/// the caller's where no way of filtering looks at so many results together.
struct PreparedOnDevice : PreparedFilters {
    FilterWork work;
    std::unique_ptr<DeviceFilters> filters;
};

class GpuFilterEngine : public FilterEngine {
  public:
    GpuFilterEngine(int device, int index, index_t limit_bytes, int host_threads);

    const EngineInfo& info() const override { return info_; }
    std::optional<FilterCost> estimate(const FilterWork& work, index_t signals,
                                       index_t outputs) const override;
    std::shared_ptr<const PreparedFilters> prepare(const FilterWork& work,
                                                   const void* taps) override;
    void filter(const FilterWork& work, const PreparedFilters& filters, const SignalView& signal,
                const FilterResult& result, const ExecutionContext& context) override;

  private:
    struct Streams {
        Stream up, compute, down;
    };
    struct Sizes;

    /// How results are to be cut so that what is in flight fits the device.
    Sizes sizes_for(const PreparedOnDevice& prepared, const WindowPost& window, index_t signals,
                    const SampleRange& range) const;
    void run(const PreparedOnDevice& prepared, const Sizes& sizes, const SignalView& signal,
             const FilterResult& result, const ExecutionContext& context);

    EngineInfo info_;
    int device_;
    int host_threads_;
    FilterRates rates_;
    double to_device_ = 0, to_host_ = 0;  // bytes a second
    DevicePool pool_;
    Gate gate_;
    StagingPool up_staging_, down_staging_;
    std::mutex mutex_;  // one run at a time: cuFFT's plans have one work area
    std::unique_ptr<Streams> streams_;
};

}  // namespace convolume::gpu
