// SPDX-License-Identifier: Apache-2.0
#pragma once
// Iterations of objects larger than the GPUs' memory: the arrays are in host memory, and each
// iteration is one walk along z, on one GPU or shared by several.

#include <functional>
#include <memory>
#include <vector>

#include "core/threads.hpp"
#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

class WalkExecutor final : public Executor {
  public:
    /// `problem` is kept by reference. `setups`: one for each GPU, with consecutive planes of the
    /// object and of the image.
    WalkExecutor(const DeconvolutionProblem& problem, const PairAxes& axes,
                 const PlaneKernels& kernels, const std::vector<Walker::Setup>& setups,
                 int threads);
    ~WalkExecutor() override;

    /// Returns the bytes on the GPU that holds most.
    index_t most_bytes() const;

    HostMemory staging() const override {
        return resident_.data ? HostMemory::page_locked : HostMemory::ordinary;
    }
    int threads() const override { return threads_; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_estimate(const float* values, index_t first, index_t count) override;
    void read_estimate(float* values, index_t first, index_t count) const override;
    void hold_out(const PhotonScale& photons, int halvings) override;
    void put_back() override;
    void begin(const LoadedImage& image, float held_out_share) override;
    StepResult iterate(const StepStart& start, const IterationProgress& progress) override;
    int most_fused_iterations() const override { return iterations_a_walk_; }
    std::vector<StepResult> iterate_fused(const std::vector<StepStart>& starts,
                                          const IterationProgress& progress) override;
    void complete(const StepStart& start) override;

  private:
    /// Calls prepare(planes) before object planes are loaded; several walks may load the same
    /// planes.
    std::vector<StepSums> walk(const WalkTask& task, const IterationProgress* progress,
                               const std::function<void(const IndexRange&)>& prepare = {});
    /// Calls functor(i) for every i below `count`. Every thread has a functor of its own, so that
    /// compilers know that arrays do not alias it.
    template <class Functor>
    void for_each(index_t count, const Functor& functor) const {
        parallel_ranges(count, threads_, [&](index_t first, index_t last, int) {
            const Functor own = functor;
            for (index_t i = first; i < last; ++i) own(i);
        });
    }

    /// Applies the pending step of a linear system to these planes.
    void advance(const IndexRange& planes, const StepStart& start);

    const DeconvolutionProblem& problem_;
    index_t voxels_, pixels_;
    int threads_;
    ResidentArrays resident_;
    WalkArrays arrays_;
    Buffer converted_;  ///< pixels on their way to a resident image of uint16
    std::vector<std::unique_ptr<Walker>> walkers_;
    StepSettings step_settings_;
    int iterations_a_walk_;
    bool has_weights_ = false;
    bool is_complete_ = true;  ///< whether no step is pending
};

}  // namespace convolume::deconvolve
