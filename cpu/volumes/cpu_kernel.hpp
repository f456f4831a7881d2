// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CPU engine's kernels have in common.

#include <atomic>

#include "core/engine.hpp"
#include "core/pixels/rows.hpp"

namespace convolume::cpu {

class Kernel : public EngineKernel {
  public:
    virtual ExecutionReport convolve(const Block& block, const BlockInput& input,
                                     const BlockOutput& output, char* workspace, int threads,
                                     const ExecutionContext& context) const = 0;
};

// Counts of all threads.
class ClampTotal {
  public:
    void add(const ClampCount& count) {
        low_ += count.low;
        high_ += count.high;
    }
    ExecutionReport report() const {
        ExecutionReport report;
        report.clamped_low = low_;
        report.clamped_high = high_;
        return report;
    }

  private:
    std::atomic<index_t> low_{0};
    std::atomic<index_t> high_{0};
};

}  // namespace convolume::cpu
