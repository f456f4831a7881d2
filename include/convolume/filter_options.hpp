// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a caller of FilterBank chooses. With signal x of N samples (zero outside) and filters h of M
// taps, all of one common origin (shorter filters are zero outside their taps):
//   full[n]    = sum_k h[k] x[n - k],    n = 0 … N+M-2
//   same[i]    = full[i + origin],       i = 0 … N-1
//   valid      = full[M-1 … N-1],        for N >= M

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// A caller's function that takes the place of each filtered sample, computed before anything is
/// stored. sample_function() makes one of a function object; device_sample_function() of
/// convolume/cuda/device_sample_function.cuh one that runs inside the GPU's kernels too.
class CONVOLUME_API SampleFunction {
  public:
    virtual ~SampleFunction() = default;
    index_t before = 0;                          ///< filtered samples that it looks at before each
    index_t after = 0;                           ///< and after
    PixelType sample_type = PixelType::float32;  ///< of what it is given
    PixelType result_type =
        PixelType::float32;  ///< of what it returns: the same, or real for complex

    /// out[i] = f(y + i), i < count; y[-before] … y[count-1+after] can be read.
    virtual void apply(const void* y, index_t count, void* out) const = 0;
    /// The GPU's kernels with the function inside; null: only CPU engines can do the work.
    virtual const void* device_kernels() const { return nullptr; }
};

/// The tap of each filter that meets sample i of the signal in sample i of Mode::same.
struct FilterOrigin {
    enum class Kind {
        center,      ///< (M-1)/2, rounded down: scipy.signal, numpy
        causal,      ///< tap 0: the result looks at past samples only
        anticausal,  ///< tap M-1: at future samples only
        explicit_    ///< tap `index`; below 0 and from M on lie delays and advances
    };
    Kind kind = Kind::center;
    index_t index = 0;
};

/// Samples [begin, end) of the full result.
struct SampleRange {
    index_t begin = 0;
    index_t end = 0;
    index_t count() const { return end - begin; }
    friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

enum class FilterMethod {
    automatic,     ///< least predicted time among those that fit
    direct,        ///< sums in time
    overlap_save,  ///< segments overlap in the signal, aliased samples are dropped
    overlap_add,   ///< segments overlap in the result (CPU)
    partitioned,   ///< signal and filters both in blocks, spectra added up before one inverse
};

/// What becomes of each filtered sample before it is stored.
enum class PointPost {
    none,
    power,       ///< |y|²
    derivative,  ///< (y[n+1] - y[n-1]) / 2
};

/// What is stored of each window of results. NaN is never the largest: a window of nothing else has
/// it for a peak, at its first sample.
struct CONVOLUME_API WindowPost {
    enum class Kind {
        none,      ///< every sample
        decimate,  ///< the first sample of each window
        peak,      ///< the largest sample and where it is (the first of equal ones); real results
    };
    Kind kind = Kind::none;
    index_t length = 1;  ///< windows start at the first sample asked for; the last may be shorter

    /// Stored samples of `count` results.
    index_t stored(index_t count) const {
        return kind == Kind::none ? count : ceil_div(count, length);
    }
    friend bool operator==(const WindowPost&, const WindowPost&) = default;
};

struct FilterOptions {
    Mode mode = Mode::same;
    std::optional<SampleRange> range;  ///< instead of a mode
    FilterOrigin origin{};
    Precision precision = Precision::float32;
    NanPolicy nan = NanPolicy::error;
    PointPost post = PointPost::none;
    /// Takes the place of each result instead of `post`.
    std::shared_ptr<const SampleFunction> function;
    WindowPost window{};

    FilterMethod method = FilterMethod::automatic;
    index_t segment = 0;  ///< transform length of the overlap methods; 0: chosen
    /// Results computed at a time when streaming; 0: chosen. They are written as soon as they are
    /// computed, so that few are early and many are fast.
    index_t chunk = 0;
    /// Bytes of host memory for buffers when streaming, beside the caller's; nothing: a quarter of
    /// what is free.
    std::optional<index_t> max_host_bytes;
};

CONVOLUME_API const char* to_string(FilterMethod);
CONVOLUME_API const char* to_string(PointPost);
CONVOLUME_API std::string to_string(const WindowPost&);
CONVOLUME_API FilterMethod
    parse_filter_method(std::string_view);  ///< "auto", "direct", "overlap-save", …
CONVOLUME_API PointPost parse_point_post(std::string_view);    ///< "none", "power", "derivative"
CONVOLUME_API WindowPost parse_window_post(std::string_view);  ///< "none", "decimate:W", "peak:W"
CONVOLUME_API FilterOrigin
    parse_filter_origin(std::string_view);  ///< "center", "causal", "anticausal" or N
CONVOLUME_API SampleRange parse_sample_range(std::string_view);  ///< "A:B"

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

/// `function(y)` returns what takes the place of the filtered sample *y (a Sample, or its real
/// type), and may look at y[-before] … y[after]. It is called from several threads at once.
template <class Sample, class Function>
std::shared_ptr<const SampleFunction> sample_function(Function function, index_t before = 0,
                                                      index_t after = 0) {
    return std::make_shared<HostSampleFunction<Sample, Function>>(std::move(function), before,
                                                                  after);
}

}  // namespace convolume
