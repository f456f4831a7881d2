// SPDX-License-Identifier: Apache-2.0
#pragma once
// Iterations as passes, in slabs of planes on one GPU or several. Before each of its two
// convolutions a slab fetches what it needs of its neighbors' spectra (plane_exchange.cuh).

#include <memory>
#include <vector>

#include "deconvolve/pass_part.cuh"
#include "deconvolve/plane_exchange.cuh"

namespace convolume::deconvolve {

class PassSteps final : public Steps {
  public:
    /// `places`: one for each part.
    PassSteps(const Problem& problem, const gpu::PairAxes& axes,
              const std::vector<PlanePart>& parts, const std::vector<ConstImageView>& kernels,
              const std::vector<SlabPlace>& places, int threads);
    ~PassSteps() override;

    /// What others may share: that of a single part, else null.
    std::shared_ptr<DeviceWorkspace> workspace() const;

    /// Of the arrays, and of all, of all GPUs or of the one that takes most.
    index_t array_bytes() const;
    index_t most_bytes() const;

    HostMemory staging() const override { return PassPart::staging; }
    int threads() const override { return threads_; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_estimate(const float* values, index_t first, index_t count) override;
    void read_estimate(float* values, index_t first, index_t count) const override;
    void hold_out(const PhotonScale& photons, int halvings) override;
    void put_back() override;
    void begin(const LoadedImage& image, float held_share) override;
    Taken take(const Origin& origin, const IterationProgress& progress) override;

  private:
    template <class Work>
    void in_turn(const Work& work);

    struct Part;
    std::vector<std::unique_ptr<Part>> parts_;
    richardson_lucy::Model model_{0, 0};
    float held_share_ = 0;
    int unmatched_;  ///< steps with the other back projector
    bool has_weights_ = false;
    bool compares_all_;  ///< no pixel is left out
    int threads_;
};

}  // namespace convolume::deconvolve
