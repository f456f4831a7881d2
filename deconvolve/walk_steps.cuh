// SPDX-License-Identifier: Apache-2.0
#pragma once
// Iterations of objects larger than the GPUs' memory: the arrays are in host memory, and each
// iteration is one walk along z, on one GPU or shared by several.

#include <functional>
#include <memory>
#include <vector>

#include "core/threads.hpp"
#include "deconvolve/walker.cuh"

namespace convolume::deconvolve {

class WalkSteps final : public Steps {
  public:
    /// `places`: one for each GPU, with planes of the object and of the image one after another.
    WalkSteps(const Problem& problem, const gpu::PairAxes& axes,
              const std::vector<ConstImageView>& kernels, const std::vector<Walker::Place>& places,
              int threads);
    ~WalkSteps() override;

    /// Of the GPU that takes most.
    index_t most_bytes() const;

    HostMemory staging() const override { return HostMemory::ordinary; }
    int threads() const override { return threads_; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_estimate(const float* values, index_t first, index_t count) override;
    void read_estimate(float* values, index_t first, index_t count) const override;
    void hold_out(const PhotonScale& photons, int halvings) override;
    void put_back() override;
    void begin(const LoadedImage& image, float held_share) override;
    Taken take(const Origin& origin, const IterationProgress& progress) override;
    int most_together() const override { return together_; }
    std::vector<Taken> take_together(const std::vector<Origin>& origins,
                                     const IterationProgress& progress) override;
    Outcome solve_wiener(const LoadedImage& image, IterationProgress& progress) override;

  private:
    /// Calls prepare(planes) before object planes are loaded; of several walks, more than once.
    std::vector<WalkSums> walk(const WalkTask& task, const IterationProgress* progress,
                               const std::function<void(const gpu::Range&)>& prepare = {});
    /// stage(i) for every i below `count`. Every thread has a stage of its own, which the arrays
    /// cannot be aliases of.
    template <class Stage>
    void for_each(index_t count, const Stage& stage) const {
        parallel_ranges(count, threads_, [&](index_t first, index_t last, int) {
            const Stage own = stage;
            for (index_t i = first; i < last; ++i) own(i);
        });
    }

    DeconvolveOptions options_;
    index_t voxels_, pixels_;
    int threads_;
    WalkArrays arrays_;
    std::vector<std::unique_ptr<Walker>> walkers_;
    richardson_lucy::Model model_{0, 0};
    float held_share_ = 0;
    int together_;
    int unmatched_;  ///< steps with the other back projector
    float tv_weight_;
    Variation variation_;
    PhotonScale photons_;
    float unadvanced_ = 0;  ///< of wiener: so much of the direction will be added to the solution
    bool has_weights_ = false;
    bool compares_all_;
};

}  // namespace convolume::deconvolve
