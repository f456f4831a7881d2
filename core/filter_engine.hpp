// SPDX-License-Identifier: Apache-2.0
#pragma once
// A filter engine applies a bank of filters to chunks of signals on one device. FilterBank asks
// engines for seconds, prepares the bank once, and passes chunks.

#include <memory>
#include <optional>
#include <vector>

#include "convolume/filter_options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// Everything but the data that decides how an engine filters and how long it takes. All filters
/// have one length:
///     full[n] = Σ_k h[k] x[n - k],  k = 0 … taps-1
struct FilterSpec {
    index_t filters = 1;
    index_t taps = 1;
    /// Signals, filters and results are complex; otherwise all are real.
    bool complex_data = false;
    Precision precision = Precision::float32;
    bool power = false;  ///< the result is |y|² (real) instead of y
    /// The caller's function, applied instead of `power`.
    std::shared_ptr<const SampleFunction> function;
    WindowPost window{};  ///< selection among results after `power` or `function`
    FilterMethod method = FilterMethod::automatic;
    index_t segment = 0;  ///< length of the transforms; 0: the engine chooses

    /// Storage of signals is that of each SignalView; here it is what is predicted with. Only
    /// float32 is computed with other storage than plain, and peaks are stored plainly.
    SampleStorage signal_storage = SampleStorage::plain;
    SampleStorage result_storage = SampleStorage::plain;
    double result_scale = 1;  ///< value of one step of results that are stored as int16

    /// Returns the type of signals and filters.
    PixelType sample_type() const { return convolume::sample_type(precision, complex_data); }
    bool is_plain_storage() const {
        return signal_storage == SampleStorage::plain && result_storage == SampleStorage::plain;
    }
    /// Return the bytes of one sample of a signal and of one stored result, both complex or not.
    index_t signal_bytes() const { return stored_bytes(signal_storage, sample_type()); }
    index_t result_bytes() const { return stored_bytes(result_storage, result_type()); }
    /// Returns the bytes of one sample of type `type` in `storage`.
    static index_t stored_bytes(SampleStorage storage, PixelType type) {
        if (storage == SampleStorage::plain) return convolume::sample_bytes(type);
        return is_complex(type) ? 4 : 2;
    }

    /// Returns the type of results before they are stored: real after `power`, the function's type
    /// after a function.
    PixelType result_type() const {
        if (function) return function->result_type;
        if (power) return convolume::sample_type(precision, false);
        return sample_type();
    }
};

/// Samples first … first+count-1 of each signal, of type FilterSpec::sample_type() or in other
/// storage. All other samples are zero.
struct SignalView {
    const void* data = nullptr;  ///< address of sample `first` of the first signal
    index_t signals = 1;
    index_t stride = 0;  ///< distance in samples between consecutive signals
    index_t first = 0;
    index_t count = 0;
    SampleStorage storage = SampleStorage::plain;
};

/// Target of the windows of results [range.begin, range.end). Without windows, each result is its
/// own window. A window starts at range.begin. Window w of filter f of signal s is stored at
///     s·signal_stride + f·filter_stride + w
struct FilterResult {
    SampleRange range;  ///< may extend beyond the full result, where filtered samples are 0
    /// Results of type FilterSpec::result_type(), or in FilterSpec::result_storage.
    void* data = nullptr;
    /// Target of the positions of peaks, laid out like `data`: the index n in the full result. May
    /// be null.
    index_t* peak_positions = nullptr;
    index_t signal_stride = 0;
    index_t filter_stride = 0;
    /// Two counters to which the numbers of results clamped low and high are added, in the same
    /// kind of memory as `data`. Results stored as int16 need them.
    index_t* clamped = nullptr;
};

/// How an engine would filter, and the predicted cost.
struct FilterCost {
    FilterMethod method = FilterMethod::overlap_save;
    index_t segment = 0;      ///< transform length; 0 for direct sums
    double seconds = 0;       ///< predicted time for all signals, transfers included
    index_t work_bytes = 0;   ///< bytes of the engine's memory, spectra included
    index_t host_bytes = 0;   ///< bytes of host memory through which a GPU's transfers pass
    std::string description;  ///< such as "segments of 4096 in shared memory"
};

/// A bank of filters prepared by an engine. Immutable.
class PreparedFilters {
  public:
    virtual ~PreparedFilters() = default;
};

class FilterEngine {
  public:
    virtual ~FilterEngine() = default;
    virtual const EngineInfo& info() const = 0;

    /// Predicts the cost of `outputs` results of each of `signals` signals, or returns nothing if
    /// the engine lacks the method or segment. Pure arithmetic.
    virtual std::optional<FilterCost> estimate(const FilterSpec& spec, index_t signals,
                                               index_t outputs) const = 0;

    /// Prepares a bank. `taps` holds filters × taps contiguous samples of spec.sample_type().
    /// `spec` has the method and segment of an estimate.
    virtual std::shared_ptr<const PreparedFilters> prepare(const FilterSpec& spec,
                                                           const void* taps) = 0;

    /// Filters signals; returns when the result is written. Throws Cancelled, OutOfMemory,
    /// DeviceFailure. Safe to call from several threads. `context.progress` receives fractions of
    /// this call.
    virtual void filter(const FilterSpec& spec, const PreparedFilters& filters,
                        const SignalView& signal, const FilterResult& result,
                        const ExecutionContext& context) = 0;
};

using FilterEngineList = std::vector<std::shared_ptr<FilterEngine>>;

}  // namespace convolume
