#pragma once
// What a caller may pass along with an execution, and what it learns from it.

#include <functional>
#include <stop_token>

#include "convolume/timeline.hpp"

namespace convolume {

/// Passed by reference to every stage of one execution.
struct ExecutionContext {
    Timeline* timeline = nullptr;
    /// Called with the fraction done, from any thread, one call at a time.
    std::function<void(double)> progress;
    /// When a stop is requested the execution throws Cancelled soon after; outputs are then
    /// undefined.
    std::stop_token stop;
};

/// Throws Cancelled when a stop was requested.
void throw_if_stopped(const ExecutionContext& context);

/// Facts about one finished execution.
struct ExecutionReport {
    double seconds = 0;
    index_t clamped_low = 0;       ///< outputs below the integer type's range (NaN counts here)
    index_t clamped_high = 0;      ///< outputs above it
    index_t nonfinite_inputs = 0;  ///< NaN and infinities read as 0 (NanPolicy::zero)
};

}  // namespace convolume
