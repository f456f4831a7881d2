// SPDX-License-Identifier: Apache-2.0
#pragma once
// A walk that carries out the operations of any method, over whole planes or tiles: functors run
// between passes, on planes of samples. An iteration with two projections is a chain of two walks.
//
// Of tiles only what is their own is counted and goes back, though more is updated.

#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

class OperationWalker final : public Walker {
  public:
    OperationWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
                    const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, problem.traits.projections),
          method_(problem.options.method),
          traits_(problem.traits) {}

  private:
    struct At;
    struct Run;

    std::size_t chained(const WalkTask&) const override {
        return static_cast<std::size_t>(traits_.projections);
    }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    const PlaneRing& ring(Slot slot) const;

    DeconvolveMethod method_;
    MethodTraits traits_;
};

}  // namespace convolume::deconvolve
