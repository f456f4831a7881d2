// SPDX-License-Identifier: Apache-2.0
#pragma once
// A walk whose iteration is one of rlgc. The first walk of a chain of two makes corrections of both
// halves of the photons, and from them where the halves agree; the second one blurs that and
// projects it back, then takes the steps. Spectra are in three rings: of points, ratios of the
// first half and their corrections; of the second half; of the agreement.

#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

class ConsensusWalker final : public Walker {
  public:
    ConsensusWalker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
                    const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
        : Walker(place, problem, axes, kernels, arrays, 2) {}

  private:
    static constexpr index_t first_half = 0, second_half = 1, agreement = 2;  // rings

    std::size_t chained(const WalkTask&) const override { return 2; }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    void divide(const WalkStep& step, const WalkTask& task);
    void find_agreement(const WalkStep& step);
    void blur_agreement(const WalkStep& step);
    void take_steps(const WalkStep& step, const WalkTask& task);
};

}  // namespace convolume::deconvolve
