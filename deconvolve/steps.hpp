// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image and estimate of a deconvolution, wherever they lie, and an iteration on them. What an
// iteration begins with, and when iterations end, is decided elsewhere (richardson_lucy.hpp).

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "convolume/error.hpp"
#include "core/short_float.hpp"
#include "deconvolve/iteration_progress.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"
#include "deconvolve/pixels.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"

namespace convolume::deconvolve {

/// Voxels outside the image that send less than this share of their light into it are left dark:
/// what float32 transforms leave of their correction is no information (Bertero and Boccacci cut
/// there, too).
inline constexpr float least_weight = 1e-2F;

/// Where an iteration starts from: the newest estimate, or a point ahead of it.
struct Origin {
    int iteration = 1;
    richardson_lucy::Ahead ahead{0, 0};
    bool restart = true;  ///< the estimate before is not known, or forgotten
    /// Of what the last step changed and of what this one changes, where these are kept in 16 bits.
    ShortFormat last_format, format;
    /// An objective above this refuses the step.
    double most = std::numeric_limits<double>::infinity();
    /// Nobody asks for the misfit: passes may leave it out, which is faster.
    bool without_misfit = false;
};

/// Steps with the other back projector, which come first.
inline int unmatched_steps(const Problem& problem) {
    return problem.has_unmatched() ? problem.options.unmatched : 0;
}
/// These tell nothing of the way ahead, and the first step after them knows none before.
inline Origin without_memory_of_unmatched(const Origin& asked, int unmatched) {
    Origin origin = asked;
    if (unmatched > 0 && origin.iteration <= unmatched + 1) origin.restart = true;
    return origin;
}

/// What is known of a point and of the step from it.
struct Taken {
    bool refused = false;   ///< the newest estimate is what it was; the one before is lost
    double misfit = 0;      ///< of the point; without it a number that is finite if the model is
    double penalty = 0;     ///< of the point: weight times total variation
    double held_out = 0;    ///< squared errors of what is held out
    SumPair products;       ///< the step times the last one, the last one squared
    double consenting = 1;  ///< of rlgc: the share of voxels that took the step
    double objective() const { return misfit + penalty; }
};

/// The loop's result, apart from the estimate itself.
struct Outcome {
    int best = 0;  ///< with photons held out: after so many steps these were predicted best
    DeconvolveReport report;
};

class Steps {
  public:
    virtual ~Steps() = default;

    /// Host memory that runs of values are best in, and the host's threads.
    virtual HostMemory staging() const = 0;
    virtual int threads() const = 0;

    // Runs of pixels and voxels in C order.
    virtual void write_image(const float* values, index_t first, index_t count) = 0;
    virtual void write_estimate(const float* values, index_t first, index_t count) = 0;
    virtual void read_estimate(float* values, index_t first, index_t count) const = 0;

    /// One photon of the image in 2^`halvings` is held out, and comes back to it.
    virtual void hold_out(const PhotonScale& photons, int halvings) = 0;
    virtual void put_back() = 0;

    /// Makes the estimate to begin with. With `held_share` above 0, iterations look at how well
    /// what is held out is predicted, as that share of the model.
    virtual void begin(const LoadedImage& image, float held_share) = 0;
    /// Compares the blurred point with the image, and takes a step.
    virtual Taken take(const Origin& origin, const IterationProgress& progress) = 0;

    /// So many iterations that need not know of each other are faster together than one by one.
    virtual int most_together() const { return 1; }
    /// That many or fewer, one after another; nothing refuses their steps.
    virtual std::vector<Taken> take_together(const std::vector<Origin>&, const IterationProgress&) {
        throw InternalError("iterations are not taken together here");
    }

    /// Of the method wiener: all iterations.
    virtual Outcome solve_wiener(const LoadedImage&, IterationProgress&) {
        throw InternalError("there is no solution by least squares here");
    }
};

/// The weight of the total variation; 0: the method has none.
inline float tv_weight_of(const Problem& problem) {
    return problem.options.method == DeconvolveMethod::richardson_lucy_tv
               ? static_cast<float>(problem.options.tv_weight)
               : 0;
}

/// What every voxel begins with.
inline float start_of(const LoadedImage& image) {
    return static_cast<float>(std::max(image.mean - image.background, 1e-3 * image.mean));
}
/// The model of a pixel.
inline richardson_lucy::Model model_of(const LoadedImage& image) {
    return {static_cast<float>(image.background),
            static_cast<float>(std::max(1e-6 * image.mean, 1e-30))};
}
/// The total variation of objects, its ε by the image's mean.
inline void set_mean(Variation& variation, double mean) {
    variation.smallest = static_cast<float>(std::max(1e-3 * mean, 1e-15));
}
inline Variation variation_of(const Problem& problem, double mean) {
    Variation variation;
    const VoxelSize& size = problem.options.voxel;
    const double least = std::min({size.z_um, size.y_um, size.x_um});
    for (int axis = 0; axis < 3; ++axis) {
        variation.extent[axis] = problem.object[axis];
        variation.per_step[axis] = static_cast<float>(least / size[axis]);
    }
    set_mean(variation, mean);
    return variation;
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

/// Writes the estimate that was given, if one was; returns the stage that makes it fit to begin
/// with, for voxels of these weights.
inline bool write_start(const LoadedImage& image) {
    if (!image.load_start) return false;
    image.load_start(start_of(image) / image.start_scale);
    return true;
}
inline Begin begin_stage(const LoadedImage& image, float* estimate, const Weights& weights) {
    return {estimate, weights, least_weight, image.start_scale, 1e-3F * start_of(image)};
}

}  // namespace convolume::deconvolve
