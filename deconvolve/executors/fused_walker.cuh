// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/executors/walker.cuh"

// A walk whose iteration is a step of Richardson and Lucy: of rl, rl-tv, shb and wb. Iterations
// that need not know of each other may be a chain of walks, each on what the one before updates:
// arrays cross the bus once for all of them.
namespace convolume::deconvolve {

class StepWalker : public Walker {
  public:
    StepWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
               const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, place.together) {}

  protected:
    std::size_t chained(const WalkTask& task) const override { return task.origins.size(); }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    // Of iteration i.
    void load_next_points(const WalkStep& step, const WalkTask& task, std::size_t i);
    virtual void compare(const WalkStep& step, const WalkTask& task, std::size_t i);
    virtual void update(const WalkStep& step, const WalkTask& task, std::size_t i);
    static bool is_unmatched(const WalkTask& task, std::size_t i) {
        return task.origins[i].iteration <= task.unmatched_steps;
    }
    void find_divisors(const gpu::Range& planes, const WalkTask& task);
};

}  // namespace convolume::deconvolve
