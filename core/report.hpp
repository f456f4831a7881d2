// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports of executions: counts, summed over concurrent tasks, seconds, and which parts report.

#include <atomic>
#include <chrono>

#include "convolume/execution.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Sums of the counts of all tasks, without seconds. Thread-safe.
class ReportSum {
  public:
    void add(const ExecutionReport& report) {
        low_ += report.clamped_low;
        high_ += report.clamped_high;
        nonfinite_ += report.nonfinite_inputs;
    }
    void add(const ClampCount& count) {
        low_ += count.low;
        high_ += count.high;
    }
    void add_nonfinite(index_t count) { nonfinite_ += count; }

    ClampCount clamped() const { return {low_, high_}; }
    ExecutionReport report() const {
        return {.clamped_low = low_, .clamped_high = high_, .nonfinite_inputs = nonfinite_};
    }

  private:
    std::atomic<index_t> low_{0}, high_{0}, nonfinite_{0};
};

/// Returns the context of a part of some work, whose progress does not count.
inline ExecutionContext without_progress(ExecutionContext context) {
    context.progress = nullptr;
    return context;
}
/// Returns the context of a part that is neither timed nor counts for the progress.
inline ExecutionContext only_stoppable(const ExecutionContext& context) {
    return {nullptr, nullptr, context.stop};
}

/// Returns the report of `run()`, with the seconds that run() took.
template <class Run>
ExecutionReport timed(const Run& run) {
    const auto start = std::chrono::steady_clock::now();
    ExecutionReport report = run();
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

}  // namespace convolume
