#pragma once
// Banks of filters over signals that are in a GPU's memory already: for work that stays on the
// device.

#include <memory>
#include <vector>

#include "convolume/device_convolver.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume {

struct DeviceFilterOptions {
    int device = 0;
    /// As for FilterBank: with complex signals, or a complex filter, everything is complex.
    PixelType signal_type = PixelType::float32;
};

/// Filters signals of one shape with a bank of filters on one GPU.
class DeviceFilterBank {
  public:
    /// `filters` are in host memory, as FilterBank takes them, and are copied. Everything that
    /// waits for the device happens here. Of the options, max_host_bytes is not used; under
    /// NanPolicy::error signals are not searched for NaN: they propagate; NanPolicy::zero is
    /// refused. A function must be one that device_sample_function() made. Throws as FilterBank
    /// does, and Unavailable when there is no such device or it has no such method.
    DeviceFilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                     const FilterOptions& options = {}, const DeviceFilterOptions& device = {});
    ~DeviceFilterBank();
    DeviceFilterBank(DeviceFilterBank&&) noexcept;
    DeviceFilterBank& operator=(DeviceFilterBank&&) noexcept;

    const SignalShape& signal_shape() const;
    index_t filters() const;
    index_t taps() const;            ///< as FilterBank::taps()
    SampleRange range() const;       ///< of the full result, before windows
    index_t result_samples() const;  ///< stored for each filter of each signal
    PixelType sample_type() const;   ///< that signals are in: float or complex, of the precision
    PixelType result_type() const;
    /// Device memory held, beside the caller's signals and results.
    index_t device_bytes() const;
    /// The way chosen; its seconds are those of one execution on the device.
    const FilterCost& cost() const;

    /// Enqueues the filtering on `stream` and returns: no synchronisation, no allocation (but for
    /// plans of cuFFT in a first execution, where filters are too long for shared memory). Arrays
    /// are in the device's memory, contiguous and apart from each other: `signals` is signals ×
    /// samples of sample_type(), `results` signals × filters × result_samples() of result_type(),
    /// `peak_positions` as many indices in the full result, or null. Executions share a workspace,
    /// so that those on different streams must be kept apart by events. Throws InvalidArgument
    /// (positions of what are no peaks), DeviceFailure.
    void execute(const void* signals, void* results, index_t* peak_positions = nullptr,
                 DeviceStream stream = nullptr);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
