#pragma once
// Makes a SampleFunction of any function object, for engines of the host.

#include <utility>

#include "convolume/error.hpp"
#include "convolume/filter_engine.hpp"

namespace convolume {

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
