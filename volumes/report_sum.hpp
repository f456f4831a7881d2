// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds up reports of tasks that end at the same time.

#include <mutex>

#include "convolume/execution.hpp"

namespace convolume {

class ReportSum {
  public:
    void add(const ExecutionReport& report) {
        const std::lock_guard lock(mutex_);
        sum_.clamped_low += report.clamped_low;
        sum_.clamped_high += report.clamped_high;
        sum_.nonfinite_inputs += report.nonfinite_inputs;
    }
    ExecutionReport sum() const { return sum_; }

  private:
    std::mutex mutex_;
    ExecutionReport sum_;
};

}  // namespace convolume
