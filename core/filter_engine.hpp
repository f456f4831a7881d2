// SPDX-License-Identifier: Apache-2.0
#pragma once
// A filter engine runs a bank of filters over chunks of signals on one device. FilterBank asks
// it for seconds, prepares the bank once, and hands it chunks.

#include <memory>
#include <optional>
#include <vector>

#include "convolume/filter_options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// Everything that decides an engine's way and time, but the data. Filters have a common length:
/// full[n] = sum_k h[k] x[n - k] with k = 0 … taps-1.
struct FilterWork {
    index_t filters = 1;
    index_t taps = 1;
    bool complex_data = false;  ///< signals, filters and results; else all three are real
    Precision precision = Precision::float32;
    bool power = false;                              ///< |y|² takes the place of y (real)
    std::shared_ptr<const SampleFunction> function;  ///< instead of `power`
    WindowPost window{};                             ///< of what the above leaves
    FilterMethod method = FilterMethod::automatic;
    index_t segment = 0;  ///< 0: the engine's choice

    /// Type of signals and filters.
    PixelType sample_type() const { return convolume::sample_type(precision, complex_data); }
    /// Type of what is stored: real after `power`, the function's after a function.
    PixelType result_type() const {
        if (function) return function->result_type;
        if (power) return convolume::sample_type(precision, false);
        return sample_type();
    }
};

/// Samples first … first+count-1 of each signal, in FilterWork::sample_type(); zero elsewhere.
struct SignalView {
    const void* data = nullptr;  ///< sample `first` of the first signal
    index_t signals = 1;
    index_t stride = 0;  ///< samples from one signal to the next
    index_t first = 0;
    index_t count = 0;
};

/// Target of the windows of results [range.begin, range.end) (each sample is a window of its own
/// where there are none): range.begin starts a window. Window w of filter f of signal s at
/// s·signal_stride + f·filter_stride + w.
struct FilterResult {
    SampleRange range;     ///< may reach beyond the full result, where filtered samples are 0
    void* data = nullptr;  ///< FilterWork::result_type()
    /// For peaks: the index n in the full result of each, likewise; may be null.
    index_t* peak_positions = nullptr;
    index_t signal_stride = 0;
    index_t filter_stride = 0;
};

/// How an engine would do some work.
struct FilterCost {
    FilterMethod method = FilterMethod::overlap_save;
    index_t segment = 0;      ///< transform length; 0 for direct
    double seconds = 0;       ///< predicted for the whole, transfers included
    index_t work_bytes = 0;   ///< of the engine's memory, spectra included
    index_t host_bytes = 0;   ///< of host memory that a GPU's transfers pass through
    std::string description;  ///< "segments of 4096 in shared memory"
};

/// A bank of filters as an engine keeps it. Immutable.
class PreparedFilters {
  public:
    virtual ~PreparedFilters() = default;
};

class FilterEngine {
  public:
    virtual ~FilterEngine() = default;
    virtual const EngineInfo& info() const = 0;

    /// For `signals` signals of which `outputs` samples each are wanted; nothing when the engine
    /// has no such method or segment. Arithmetic only.
    virtual std::optional<FilterCost> estimate(const FilterWork& work, index_t signals,
                                               index_t outputs) const = 0;

    /// `taps`: filters × taps, contiguous, of work.sample_type(). `work` names method and segment
    /// of an estimate.
    virtual std::shared_ptr<const PreparedFilters> prepare(const FilterWork& work,
                                                           const void* taps) = 0;

    /// Returns when the result is written. Throws Cancelled, OutOfMemory, DeviceFailure. Safe to
    /// call from several threads. `context.progress` gets fractions of this call.
    virtual void filter(const FilterWork& work, const PreparedFilters& filters,
                        const SignalView& signal, const FilterResult& result,
                        const ExecutionContext& context) = 0;
};

using FilterEngineList = std::vector<std::shared_ptr<FilterEngine>>;

}  // namespace convolume
