// SPDX-License-Identifier: Apache-2.0
#pragma once
// A walk whose iteration is a step of Richardson and Lucy: of rl, rl-tv, shb and wb.

#include "deconvolve/walker.cuh"

namespace convolume::deconvolve {

class StepWalker final : public Walker {
  public:
    StepWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
               const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, 1) {}

  private:
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    void compare(const WalkStep& step, const WalkTask& task);
    void update(const WalkStep& step, const WalkTask& task);
    void find_divisors(const gpu::Range& planes, const WalkTask& task);
};

}  // namespace convolume::deconvolve
