// SPDX-License-Identifier: Apache-2.0
#pragma once
// A walk whose ratios and steps are taken in passes along x, of whole planes and methods that fit
// them (MethodTraits::fits_passes). Iterations that need no results of the one before may be a
// chain of walks, each on what the one before updates: arrays cross the bus once for all of them.

#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

class FusedWalker final : public Walker {
  public:
    FusedWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
                const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, place.together) {}

  private:
    std::size_t chained(const WalkTask& task) const override { return task.starts.size(); }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    // Of iteration i.
    void load_next_points(const WalkStep& step, const WalkTask& task, std::size_t i);
    void compare(const WalkStep& step, const WalkTask& task, std::size_t i);
    void update(const WalkStep& step, const WalkTask& task, std::size_t i);
};

}  // namespace convolume::deconvolve
