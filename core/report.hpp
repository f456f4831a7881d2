// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports of executions: counts, summed over concurrent tasks, and seconds.

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
