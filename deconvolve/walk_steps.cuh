// SPDX-License-Identifier: Apache-2.0
#pragma once
// Iterations of objects larger than the GPUs' memory: the arrays are in host memory, and each
// iteration is one walk along z, on one GPU or shared by several.

#include <functional>
#include <memory>
#include <vector>

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

  private:
    WalkSums walk(const WalkTask& task, const IterationProgress* progress);
    /// stage(i) for every i below `count`.
    template <class Stage>
    void for_each(index_t count, const Stage& stage) const;

    index_t voxels_, pixels_;
    int threads_;
    WalkArrays arrays_;
    std::vector<std::unique_ptr<Walker>> walkers_;
    richardson_lucy::Model model_{0, 0};
    float held_share_ = 0;
    int unmatched_;  ///< steps with the other back projector
    float tv_weight_;
    Variation variation_;
    bool has_weights_ = false;
    bool compares_all_;
};

}  // namespace convolume::deconvolve
