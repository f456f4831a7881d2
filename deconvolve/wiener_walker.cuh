// SPDX-License-Identifier: Apache-2.0
#pragma once
// A walk that applies AᵀA + K to the direction of the conjugate gradients, for wiener. The sums it
// makes tell all factors of the iteration (walk_wiener.cu).

#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

class WienerWalker final : public Walker {
  public:
    WienerWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
                 const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, 1) {}

  private:
    std::size_t chained(const WalkTask&) const override { return 1; }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;
};

}  // namespace convolume::deconvolve
