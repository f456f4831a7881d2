// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shape of signals and the options of FilterBank. A signal x has N samples and is zero outside.
// The filters h have M taps and one common origin; shorter filters are zero outside their taps:
//
//     full[n] = Σ_k h[k] x[n − k],    n = 0 … N+M−2
//     same[i] = full[i + origin],     i = 0 … N−1
//     valid   = full[M−1 … N−1],      for N ≥ M

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "convolume/sample_storage.hpp"

namespace convolume {

/// Extents of the signals to filter.
struct SignalShape {
    index_t signals = 1;  ///< number of signals, which are filtered by the same filters
    /// Number of samples of each signal. unknown_samples: one signal, until its source ends.
    index_t samples = 0;
};

/// A caller's function that is applied to each filtered sample before it is stored. For a function
/// object, sample_function() makes one that the CPU computes. device_sample_function() of
/// convolume/cuda/device_sample_function.cuh makes one that also runs inside CUDA kernels.
/// @code{.cpp}
/// FilterOptions options;
/// options.function = sample_function<float>([](const float* y) { return std::abs(*y); });
/// const std::vector<float> signal = {1, 2, 4}, slope = {1, -1};
/// const Volume steps = filter_signals(view_of(signal.data(), {1, 1, 3}),
///                                     view_of(slope.data(), {1, 1, 2}), options);
/// assert(std::abs(steps.elements<float>()[2] - 2) < 1e-5);
/// @endcode
class CONVOLUME_API SampleFunction {
  public:
    virtual ~SampleFunction() = default;
    index_t before = 0;  ///< number of earlier samples that each result depends on
    index_t after = 0;   ///< number of later samples that each result depends on
    PixelType sample_type = PixelType::float32;  ///< type of the filtered samples, its input
    /// Type of the results: sample_type, or its real type if that is complex.
    PixelType result_type = PixelType::float32;

    /// Computes out[i] = f(y + i) for i < count. It may read y[-before] … y[count-1+after].
    virtual void apply(const void* y, index_t count, void* out) const = 0;
    /// Returns the CUDA kernels that compute the function. If null, only CPU engines can do the
    /// work.
    virtual const void* device_kernels() const { return nullptr; }
};

/// The origin of a filter: the tap that meets sample i of the signal in sample i of Mode::same. The
/// filter has M taps.
struct FilterOrigin {
    /// The rule that gives the tap.
    enum class Kind {
        center,      ///< tap (M-1)/2, rounded down: scipy.signal, numpy
        causal,      ///< tap 0: results depend on past samples only
        anticausal,  ///< tap M-1: results depend on future samples only
        explicit_    ///< tap `index`; below 0 it is a delay, from M on an advance
    };
    Kind kind = Kind::center;
    index_t index = 0;  ///< tap of `explicit_`
};

/// A range [begin, end) of samples of the full result.
struct SampleRange {
    index_t begin = 0;
    index_t end = 0;
    index_t count() const { return end - begin; }
    friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// The method by which signals are filtered. Each gives the same result, up to rounding.
enum class FilterMethod {
    automatic,     ///< the method of least predicted time among those that fit
    direct,        ///< sums in time
    overlap_save,  ///< segments overlap in the signal, aliased samples are dropped
    overlap_add,   ///< segments overlap in the result (CPU)
    partitioned,   ///< signal and filters in partitions, whose spectra are added before one inverse
};

/// Operation on each filtered sample y[n] before it is stored.
enum class PointPost {
    none,
    power,       ///< |y[n]|²
    derivative,  ///< (y[n+1] - y[n-1]) / 2
};

/// Choice of the results that are stored of each window of `length` results. NaN is never the
/// largest sample. A window of NaN alone has a peak of NaN at its first sample.
struct CONVOLUME_API WindowPost {
    /// The rule that chooses results.
    enum class Kind {
        none,      ///< all results, without windows
        decimate,  ///< the first result of each window
        peak,      ///< the largest result (the first of equal ones) and its position; real results
    };
    Kind kind = Kind::none;
    index_t length = 1;  ///< results in a window, from the first one on; the last may be shorter

    /// Returns the number of samples that are stored of `count` results.
    index_t stored(index_t count) const {
        return kind == Kind::none ? count : ceil_div(count, length);
    }
    friend bool operator==(const WindowPost&, const WindowPost&) = default;
};

/// Options of FilterBank, filter_signals() and DeviceFilterBank.
/// @code{.cpp}
/// FilterOptions options;
/// options.mode = Mode::full;
/// options.origin = parse_filter_origin("causal");
/// options.post = PointPost::power;
/// options.window = parse_window_post("peak:4096");  // of each 4096 powers, the largest
/// @endcode
struct FilterOptions {
    Mode mode = Mode::same;
    std::optional<SampleRange> range;  ///< range of the full result; if given, `mode` is not used
    FilterOrigin origin{};
    Precision precision = Precision::float32;
    NanPolicy nan = NanPolicy::error;
    PointPost post = PointPost::none;
    /// Function that is applied to each filtered sample. If given, `post` must be none.
    std::shared_ptr<const SampleFunction> function;
    WindowPost window{};

    FilterMethod method = FilterMethod::automatic;
    index_t segment = 0;  ///< transform length of the overlap methods; 0: the planner chooses
    /// Number of consecutive results of a signal that are computed at once when streaming; 0: the
    /// planner chooses. Small chunks give results early, large ones are faster.
    index_t chunk = 0;
    /// Bytes of host memory for buffers when streaming, beside the caller's arrays. If not given, a
    /// quarter of the free memory.
    std::optional<index_t> max_host_bytes;

    SampleStorage signal_storage = SampleStorage::plain;
    SampleStorage result_storage = SampleStorage::plain;
    double signal_scale = 1;  ///< value of one step of int16 signals
    double result_scale = 1;  ///< value of one step of int16 results
};

/// Returns the text that the parsers below take. These throw InvalidArgument, which lists the
/// choices, for other texts.
/// @{
CONVOLUME_API const char* to_string(FilterMethod);
CONVOLUME_API const char* to_string(PointPost);
CONVOLUME_API std::string to_string(const WindowPost&);
/// @}
/// Parses "auto", "direct", "overlap-save", "overlap-add" or "partitioned".
CONVOLUME_API FilterMethod parse_filter_method(std::string_view);
/// Parses "none", "power" or "derivative".
CONVOLUME_API PointPost parse_point_post(std::string_view);
/// Parses "none", "decimate:W" or "peak:W", with a window of W results.
CONVOLUME_API WindowPost parse_window_post(std::string_view);
/// Parses "center", "causal", "anticausal" or the number of a tap.
CONVOLUME_API FilterOrigin parse_filter_origin(std::string_view);
/// Parses "A:B", the range [A, B).
CONVOLUME_API SampleRange parse_sample_range(std::string_view);

/// The SampleFunction that sample_function() makes: it computes a function object on the CPU.
template <class Sample, class Function>
class HostSampleFunction : public SampleFunction {
  public:
    using Result = std::decay_t<std::invoke_result_t<const Function&, const Sample*>>;

    HostSampleFunction(Function function, index_t samples_before, index_t samples_after)
        : function_(std::move(function)) {
        if (samples_before < 0 || samples_after < 0)
            throw InvalidArgument(message("a function that looks at ", samples_before,
                                          " samples before and ", samples_after,
                                          " after each: neither can be negative"));
        before = samples_before;
        after = samples_after;
        sample_type = pixel_type_of_v<Sample>;
        result_type = pixel_type_of_v<Result>;
    }

    void apply(const void* y, index_t count, void* out) const override {
        const auto* const samples = static_cast<const Sample*>(y);
        auto* const results = static_cast<Result*>(out);
        for (index_t i = 0; i < count; ++i) results[i] = function_(samples + i);
    }

  private:
    Function function_;
};

/// Makes a SampleFunction of a function object. `function(y)` returns the result for the filtered
/// sample *y, of type Sample or its real type, and may read y[-before] … y[after]. Several threads
/// call it at once. Throws InvalidArgument for negative `before` or `after`.
/// @code{.cpp}
/// const auto rises = [](const float* y) { return y[0] > y[-1] ? 1.0F : 0.0F; };
/// const auto function = sample_function<float>(rises, 1, 0);  // reads one sample before
/// const std::vector<float> samples = {1, 3, 2};
/// std::vector<float> results(2);
/// function->apply(&samples[1], 2, results.data());
/// assert(results[0] == 1 && results[1] == 0);
/// @endcode
template <class Sample, class Function>
std::shared_ptr<const SampleFunction> sample_function(Function function, index_t before = 0,
                                                      index_t after = 0) {
    return std::make_shared<HostSampleFunction<Sample, Function>>(std::move(function), before,
                                                                  after);
}

}  // namespace convolume
