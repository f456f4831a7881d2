// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cpu/volumes/plane_passes.hpp"
#include "deconvolve/executors/executor.hpp"

// Iterations as passes in host memory. The image, the estimates and their weights are arrays. The
// model and the correction exist only as spectra (cpu/volumes/plane_passes.hpp).
namespace convolume::deconvolve {

/// Sizes of the arrays and spectra of passes in host memory.
struct HostPassLayout {
    HostPassLayout(const DeconvolutionProblem& problem, int threads, bool keep_spectrum);

    index_t weight_samples() const { return equal_planes.stored(object.z) * object.y * object.x; }
    index_t array_bytes() const;
    cpu::HostPlanePasses::Bytes pass_bytes() const {
        return {axes, threads, keep_spectrum, psf_weights.kernels()};
    }
    /// Returns an upper bound of the memory that arrays and passes take.
    index_t bytes() const;

    DeconvolveMethod method;
    Index3 first_tap;  ///< index of the first tap of the PSF that is used
    PairAxes axes;
    Shape3 object, image;
    PlaneWeights psf_weights;  ///< weights of the PSFs, if the PSF varies with depth
    int threads;
    bool keep_spectrum;
    index_t tap_bytes = 0;  ///< bytes of PSFs and of their used taps while passes are made of them
    bool has_previous, has_changes, has_held_out;
    bool compares_all;         ///< whether no pixel is left out of comparisons
    EqualPlanes equal_planes;  ///< planes with equal weights
};

/// Makes passes of the PSFs of a problem (DeconvolutionProblem::psf_views()).
cpu::HostPlanePasses make_plane_passes(const HostPassLayout& layout,
                                       const std::vector<ConstImageView>& psfs);

class HostPassExecutor final : public Executor {
  public:
    /// Makes the passes and the arrays. `psfs` are DeconvolutionProblem::psf_views().
    HostPassExecutor(const HostPassLayout& layout, const std::vector<ConstImageView>& psfs);

    /// Sets the context that may stop later iterations.
    void use(const ExecutionContext& context) { context_.stop = context.stop; }

    HostMemory staging() const override { return HostMemory::ordinary; }
    int threads() const override { return layout_.threads; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_estimate(const float* values, index_t first, index_t count) override;
    void read_estimate(float* values, index_t first, index_t count) const override;
    void hold_out(const PhotonScale& photons, int halvings) override;
    void put_back() override;
    void begin(const LoadedImage& image, float held_out_share) override;
    StepResult iterate(const StepStart& start, const IterationProgress& progress) override;

  private:
    using Side = cpu::HostPlanePasses::PairSide;
    using Rows = cpu::HostPlanePasses::Rows;

    /// The operations of one iteration (method.hpp).
    struct PassOperations;

    template <class Functor>
    void for_each(index_t count, const Functor& functor) const;
    void find_weights();
    void load_point(const StepStart& start);
    SumPair compare(const StepStart& start);
    SumPair step(const StepStart& start, const richardson_lucy::MatchedRule& rule);
    /// Adds up the sums of rows in their order, whichever threads computed them.
    SumPair sum_of_rows(index_t rows) const;

    HostPassLayout layout_;
    cpu::HostPlanePasses passes_;
    Buffer newest_, previous_, change_, data_, held_out_, weights_;
    std::vector<SumPair> sums_;  ///< sums of each row
    ExecutionContext context_;
    StepSettings step_settings_;
    bool has_weights_ = false;
    bool has_point_ = false;  ///< whether the spectra are those of the next point
};

}  // namespace convolume::deconvolve
