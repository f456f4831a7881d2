// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of Richardson and Lucy in tiles of planes. What a tile compares and updates it does not all
// count and keep: so the ratio and the step are stages of their own, between passes, and the
// estimates that they make are not overwritten by those of other tiles.

#include "deconvolve/executors/fused_walker.cuh"

namespace convolume::deconvolve {

class TileWalker final : public StepWalker {
  public:
    using StepWalker::StepWalker;

  private:
    void compare(const WalkStep& step, const WalkTask& task, std::size_t i) override;
    void update(const WalkStep& step, const WalkTask& task, std::size_t i) override;
    void download(index_t k, const WalkTask& task) override;
};

}  // namespace convolume::deconvolve
