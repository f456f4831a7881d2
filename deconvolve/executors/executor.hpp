// SPDX-License-Identifier: Apache-2.0
#pragma once
// An executor holds image and estimate of a deconvolution somewhere, and carries out iterations on
// them: the operations of a method (methods/method.hpp). Where iterations start, and when they end,
// is the loop's (loop.hpp).

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"
#include "deconvolve/images.hpp"
#include "deconvolve/methods/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Reports the progress of iterations to the caller, and stops when the caller asks for it.
class IterationProgress {
  public:
    using ReadEstimate = std::function<void(const ImageView& target)>;

    /// `read` stores the estimate in a view.
    IterationProgress(const ExecutionContext& context, const DeconvolveRun& run, int iterations,
                      ReadEstimate read = {})
        : context_(context), run_(run), iterations_(iterations), read_(std::move(read)) {}

    /// Iterations from now on are this share of the whole, and no more than `iterations`.
    void begin(double from, double to, int iterations) {
        from_ = from;
        to_ = to;
        iterations_ = iterations;
        done_ = 0;
    }

    /// Number of iterations from `k` on, up to the next whose estimate the caller may read.
    int unread(int k) const {
        const int every = run_.on_iteration ? run_.reads_every : 0;
        return every > 0 ? every - (k - 1) % every : std::numeric_limits<int>::max();
    }

    /// Whether the caller may read the estimate after iteration `k`.
    bool may_read(int k) const { return unread(k) == 1; }

    /// Whether the caller is told what was found.
    bool reports() const { return static_cast<bool>(run_.on_iteration); }

    /// Throws Cancelled when a stop was requested. The fraction is that of the iteration at hand,
    /// above 1 of those that are computed with it.
    void at(double fraction) const {
        throw_if_stopped(context_);
        if (context_.progress)
            context_.progress(from_ + (to_ - from_) * (done_ + fraction) / iterations_);
    }
    void finished(const Iteration& iteration) {
        done_ = iteration.number;
        if (run_.on_iteration) run_.on_iteration(iteration, read_);
        at(0);
    }

  private:
    const ExecutionContext& context_;
    const DeconvolveRun& run_;
    int iterations_;
    ReadEstimate read_;
    int done_ = 0;
    double from_ = 0;
    double to_ = 1;
};

class Executor {
  public:
    virtual ~Executor() = default;

    /// The kind of host memory that runs of values are best in, and the host's threads.
    virtual HostMemory staging() const = 0;
    virtual int threads() const = 0;

    // Runs of pixels and voxels in C order.
    virtual void write_image(const float* values, index_t first, index_t count) = 0;
    virtual void write_estimate(const float* values, index_t first, index_t count) = 0;
    virtual void read_estimate(float* values, index_t first, index_t count) const = 0;

    /// Holds out one photon of the image in 2^`halvings`; put_back() gives them back to it.
    virtual void hold_out(const PhotonScale& photons, int halvings) = 0;
    virtual void put_back() = 0;

    /// Makes the estimate to begin with. With `held_share` above 0, iterations find how well what
    /// is held out is predicted, as that share of the model.
    virtual void begin(const LoadedImage& image, float held_share) = 0;
    /// Carries out one iteration. Without a misfit (StepStart), that of the result is a number that
    /// is finite if the model is.
    virtual StepResult iterate(const StepStart& start, const IterationProgress& progress) = 0;

    /// Number of consecutive iterations, at most, that are faster together than one by one.
    virtual int most_fused_iterations() const { return 1; }
    /// Carries out at most that many, one after another; none of them is refused.
    virtual std::vector<StepResult> iterate_fused(const std::vector<StepStart>&,
                                                  const IterationProgress&) {
        throw InternalError("iterations are not taken together here");
    }

    /// Completes the estimate where part of a step waits for the next iteration, which starts from
    /// `start`: then read_estimate() reads what the last iteration made.
    virtual void complete(const StepStart&) {}
};

/// The model of a pixel.
inline richardson_lucy::PixelModel model_of(const LoadedImage& image) {
    return {static_cast<float>(image.background),
            static_cast<float>(std::max(1e-6 * image.mean, 1e-30))};
}
inline TotalVariation variation_of(const DeconvolutionProblem& problem, double mean) {
    TotalVariation variation;
    const VoxelSize& size = problem.options.voxel;
    const double least = std::min({size.z_um, size.y_um, size.x_um});
    for (int axis = 0; axis < 3; ++axis) {
        variation.extent[axis] = problem.object[axis];
        variation.per_step[axis] = static_cast<float>(least / size[axis]);
    }
    variation.smallest = static_cast<float>(std::max(1e-3 * mean, 1e-15));
    return variation;
}
inline StepSettings settings_of(const DeconvolutionProblem& problem, const LoadedImage& image,
                                float held_share) {
    return {model_of(image),
            held_share,
            image.photons,
            problem.tv_weight(),
            variation_of(problem, image.mean),
            static_cast<float>(problem.options.noise_to_signal)};
}

/// The image loses the photons that are held out, and its model with them.
inline LoadedImage without_held_out(const LoadedImage& image, float share) {
    LoadedImage rest = image;
    rest.mean *= 1 - share;
    rest.background *= 1 - share;
    rest.photons.offset *= 1 - share;
    rest.start_scale = 1 - share;
    return rest;
}

/// Writes the estimate that was given, if one was; then begin_functor() makes it fit to begin with.
inline bool write_start(const LoadedImage& image) {
    if (!image.load_start) return false;
    image.load_start(mean_at_start(image) / image.start_scale);
    return true;
}
inline ScaledStart begin_functor(const LoadedImage& image, float* estimate,
                                 const Weights& weights) {
    return {estimate, weights, least_weight, image.start_scale, 1e-3F * mean_at_start(image)};
}

}  // namespace convolume::deconvolve
