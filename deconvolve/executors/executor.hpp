// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of executors. An executor holds the image and the estimate of a deconvolution, and
// carries out iterations on them: the operations of a method (method.hpp). The loop decides
// where iterations start and when they end (loop.hpp).

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/method.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Reports the progress of iterations to the caller, and stops them when the caller requests it.
class IterationProgress {
  public:
    using ReadEstimate = std::function<void(const ImageView& target)>;

    /// Makes the reporter of a deconvolution. `read` stores the current estimate in a view.
    IterationProgress(const ExecutionContext& context, const DeconvolveRun& run, int iterations,
                      ReadEstimate read = {})
        : context_(context), run_(run), iterations_(iterations), read_(std::move(read)) {}

    /// Starts a loop of at most `iterations` iterations, which advance the progress from `from` to
    /// `to`.
    void begin(double from, double to, int iterations) {
        from_ = from;
        to_ = to;
        iterations_ = iterations;
        done_ = 0;
    }

    /// Returns the number of iterations from `k` up to the next one whose estimate the caller may
    /// read.
    int iterations_until_read(int k) const {
        const int every = wants_reports() ? run_.reads_every : 0;
        return every > 0 ? every - (k - 1) % every : std::numeric_limits<int>::max();
    }

    /// Whether the caller may read the estimate after iteration `k`.
    bool may_read(int k) const { return iterations_until_read(k) == 1; }

    /// Whether the caller wants reports of iterations.
    bool wants_reports() const { return run_.on_iteration || run_.accepts; }

    /// Reports that the fraction `fraction` of the current iteration is done, above 1 if iterations
    /// are fused. Throws Cancelled if a stop was requested.
    void report_fraction(double fraction) const {
        throw_if_stopped(context_);
        if (context_.progress)
            context_.progress(from_ + (to_ - from_) * (done_ + fraction) / iterations_);
    }
    /// Reports an iteration to the caller. Returns whether the caller accepts its estimate.
    bool finished(const Iteration& iteration) {
        done_ = iteration.number;
        if (run_.on_iteration) run_.on_iteration(iteration, read_);
        report_fraction(0);
        return run_.accepts && !iteration.searching && may_read(iteration.number) &&
               run_.accepts(iteration);
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

    /// The kind of host memory that transfers to and from the executor are fastest with, and the
    /// number of host threads.
    virtual HostMemory staging() const = 0;
    virtual int threads() const = 0;

    /// Whether iterations record their phases, because several engines may carry them out.
    virtual bool records_phases() const { return false; }

    // Copy ranges of pixels or voxels, in C order, between the host and the executor's arrays.
    virtual void write_image(const float* values, index_t first, index_t count) = 0;
    virtual void write_estimate(const float* values, index_t first, index_t count) = 0;
    virtual void read_estimate(float* values, index_t first, index_t count) const = 0;

    // Only executors that run problems with weights of pixels or several views have these.
    virtual void write_pixel_weights(const float*, index_t, index_t) { needs_whole_arrays(); }
    virtual void fill_pixel_weights(float /* value */, index_t /* first */, index_t /* count */) {
        needs_whole_arrays();
    }
    virtual void divide_pixel_weights(float) { needs_whole_arrays(); }
    /// Replaces `count` pixels of the image from `first` on by factor · max(pixel − offset, 0).
    virtual void scale_image(index_t /* first */, index_t /* count */, float /* factor */,
                             float /* offset */) {
        needs_whole_arrays();
    }

    /// Holds out one photon of the image in 2^`halvings`; put_back() adds these photons to the
    /// image again.
    virtual void hold_out(const PhotonScale& photons, int halvings) = 0;
    virtual void put_back() = 0;

    /// Makes the first estimate. With `held_out_share` above 0, iterations sum the errors of
    /// predicting the held-out photons, which are expected to be that share of the model.
    virtual void begin(const LoadedImage& image, float held_out_share) = 0;
    /// Carries out one iteration. If the start needs no misfit, the result has another number in
    /// its place, which is finite if the model is finite.
    virtual StepResult iterate(const StepStart& start, const IterationProgress& progress) = 0;

    /// Returns the largest number of consecutive iterations that are faster when fused.
    virtual int most_fused_iterations() const { return 1; }
    /// Carries out consecutive iterations, at most most_fused_iterations(). No step is refused,
    /// whatever its objective.
    virtual std::vector<StepResult> iterate_fused(const std::vector<StepStart>&,
                                                  const IterationProgress&) {
        throw InternalError("iterations are not taken together here");
    }

    /// Completes the estimate if part of the last step waits for the next iteration, which starts
    /// at `start`. Then read_estimate() reads the result of the last iteration.
    virtual void complete(const StepStart&) {}

  private:
    [[noreturn]] static void needs_whole_arrays() {
        throw InternalError("work on the pixels of an executor without whole arrays");
    }
};

/// Returns the model of all pixels.
inline richardson_lucy::PixelModel model_of(const LoadedImage& image) {
    const double offset = image.photons.offset;
    return {static_cast<float>(image.background - offset),
            static_cast<float>(std::max(1e-6 * (image.mean - offset), 1e-30)),
            static_cast<float>(offset)};
}
/// Returns the weight of the total variation: as given, or as large as the noise of a correction
/// (DeconvolveOptions::tv_weight). It is 0 if the method has none.
inline double tv_weight_of(const DeconvolutionProblem& problem, const LoadedImage& image) {
    if (!problem.traits.penalizes_variation()) return 0;
    if (problem.options.tv_weight) return *problem.options.tv_weight;
    const double photons = image.photons.gain * image.bright_level;
    return photons > 0 ? problem.tv_scale * std::sqrt(problem.squared_taps / photons) : 0;
}
inline TotalVariation variation_of(const DeconvolutionProblem& problem, const LoadedImage& image) {
    TotalVariation variation;
    const VoxelSize& size = problem.options.voxel;
    const double least = std::min({size.z_um, size.y_um, size.x_um});
    for (int axis = 0; axis < 3; ++axis) {
        variation.extent[axis] = problem.object[axis];
        variation.per_step[axis] = static_cast<float>(least / size[axis]);
    }
    const double share = std::max(smoothing::least_rounding,
                                  smoothing::rounding_of_weight * tv_weight_of(problem, image));
    variation.smallest =
        std::max(static_cast<float>(share * static_cast<double>(mean_at_start(image))), 1e-15F);
    return variation;
}
/// Returns the weight of the roughness: as given, or as a search found it, or else 1 / N, where N
/// is the number of photons in bright voxels (DeconvolveOptions::roughness). It is 0 if the method
/// has none.
inline double roughness_of(const DeconvolutionProblem& problem, const LoadedImage& image) {
    if (!problem.traits.penalizes_roughness()) return 0;
    if (problem.options.roughness) return *problem.options.roughness;
    if (image.roughness) return *image.roughness;
    const double photons = image.photons.gain * image.bright_level;
    return photons > 0 ? 1 / photons : 0;
}
inline Roughness pair_weights_of(const DeconvolutionProblem& problem, const LoadedImage& image) {
    Roughness roughness;
    const VoxelSize& size = problem.options.voxel;
    const double least = std::min({size.z_um, size.y_um, size.x_um});
    const double weight = roughness_of(problem, image);
    for (int axis = 0; axis < 3; ++axis) {
        const double per_step = least / size[axis];
        roughness.extent[axis] = problem.object[axis];
        roughness.pair_weight[axis] = static_cast<float>(weight * per_step * per_step);
    }
    return roughness;
}
inline StepSettings settings_of(const DeconvolutionProblem& problem, const LoadedImage& image,
                                float held_out_share) {
    return {model_of(image),
            held_out_share,
            image.photons,
            static_cast<float>(tv_weight_of(problem, image)),
            variation_of(problem, image),
            pair_weights_of(problem, image),
            static_cast<float>(problem.options.noise_to_signal)};
}

/// Returns the image without the photons that are held out, and its model scaled to the rest.
inline LoadedImage without_held_out(const LoadedImage& image, float share) {
    LoadedImage rest = image;
    rest.mean *= 1 - share;
    rest.bright_level *= 1 - share;
    rest.background *= 1 - share;
    rest.photons.offset *= 1 - share;
    rest.start_scale = 1 - share;
    return rest;
}

/// Writes the caller's initial estimate if there is one, and returns whether there is.
/// begin_functor() then makes it fit as the first estimate.
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
