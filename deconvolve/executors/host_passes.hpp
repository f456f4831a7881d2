// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "deconvolve/executors/executor.hpp"
#include "deconvolve/executors/host_pass_layout.hpp"
#include "deconvolve/executors/row_loops.hpp"

// Iterations as passes in host memory, of one image or of several recordings of one object. The
// images, the estimates and their weights are arrays. The models, and the correction of one image,
// exist only as spectra (cpu/volumes/plane_passes.hpp).
namespace convolume::deconvolve {

class HostPassExecutor final : public Executor {
  public:
    /// Makes the passes and the arrays. `psfs` are those of one recording after the other
    /// (DeconvolutionProblem::psf_views()).
    HostPassExecutor(const HostPassLayout& layout, const std::vector<ConstImageView>& psfs);

    /// Sets the context that may stop later iterations.
    void use(const ExecutionContext& context) { context_.stop = context.stop; }

    HostMemory staging() const override { return HostMemory::ordinary; }
    int threads() const override { return layout_.threads; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_pixel_weights(const float* values, index_t first, index_t count) override;
    void fill_pixel_weights(float value, index_t first, index_t count) override;
    void divide_pixel_weights(float divisor) override;
    void scale_image(index_t first, index_t count, float factor, float offset) override;
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

    /// A recording, its passes, and the places of its pixels among those of all recordings.
    struct Recording {
        const RecordingLayout& layout;
        cpu::HostPlanePasses passes;
        std::size_t number;
        index_t first_pixel, first_row;
    };

    template <class Functor>
    void for_each(index_t count, const Functor& functor) const;
    ViewScale scale_of(const Recording& recording) const;
    void update_weights();
    void load_point(const StepStart& start);
    /// Returns an array of starting points.
    const float* whole_point(const StepStart& start);
    PointRow point_row(const StepStart& start, index_t at) const;
    void load_grid(Recording& recording, const float* point);
    /// Adds the back projection of the spectra of a recording to an array of the object. The first
    /// one replaces the array's values.
    void add_back(Recording& recording, bool is_first, float* sums);
    void along_z(bool adjoint) {
        for (Recording& one : recordings_) one.passes.along_z(adjoint, context_);
    }
    SumPair compare(const StepStart& start);
    SumPair step(const StepStart& start, const richardson_lucy::MatchedRule& rule);
    /// Adds up the sums of rows in their order, whichever threads computed them.
    SumPair sum_of_rows(index_t rows) const;

    HostPassLayout layout_;
    std::vector<Recording> recordings_;  ///< the last one is a shift if any is
    Buffer newest_, previous_, change_, data_, held_out_, pixel_weights_, weights_;
    Buffer correction_, grid_;   ///< sums of back projections, and a grid of other voxels
    std::vector<SumPair> sums_;  ///< sums of each row
    ExecutionContext context_;
    StepSettings step_settings_;
    std::optional<std::vector<float>> weighted_by_;  ///< factors of recordings in the weights
    bool has_point_ = false;  ///< whether the spectra are those of the next point
};

}  // namespace convolume::deconvolve
