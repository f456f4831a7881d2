// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine with an invented cost model that computes circular sums in double. It lets the planner
// be tested with sizes no machine has, and the convolver without any real engine.

#include <atomic>

#include "core/engine.hpp"

namespace convolume::testing {

struct ReferenceEngineOptions {
    std::string name = "reference";
    bool is_gpu = false;
    index_t memory_limit_bytes = 0;
    int tasks_in_flight = 1;
};

class ReferenceEngine : public Engine {
  public:
    explicit ReferenceEngine(ReferenceEngineOptions options = {});

    const EngineInfo& info() const override { return info_; }
    BlockCost estimate(const Block& block) const override;
    std::shared_ptr<const EngineKernel> prepare(const Block& block, const ConstImageView& taps,
                                                bool once) override;
    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override;
    void release_workspaces() override {}

    int blocks_convolved() const { return blocks_convolved_; }

  private:
    EngineInfo info_;
    std::atomic<int> blocks_convolved_{0};
};

}  // namespace convolume::testing
