// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of deconvolution as data: each is a struct in a file of its own, listed in
// registry.hpp. Its members are
//
// - method: its value of DeconvolveMethod; the name is in deconvolve/option_table.hpp
// - options: the options that only some methods use, by name
// - traits(options): the arrays it keeps, and what it needs (MethodTraits)
// - state(problem, image): its scalars between iterations (MethodState)
// - iterate(run): an iteration as a list of operations, which every executor carries out
//
// An executor gives `run` these operations. They name arrays by Slot. `make` makes a functor from
// `at`, the view of the samples at hand: at.object(slot), at.image(slot), at.data(), at.weights(),
// at.held() (null: nothing is held out), at.pixel_numbers(). `slots` are the arrays that the
// functor reads and writes.
//
// - load_point(): makes the starting point from the last estimates
// - blur(object, image): image <- A object, once for each of MethodTraits::projections
// - blur_back(image, object): object <- Aᵀ image
// - back_project_unmatched(image, object): the same by the method's other back projector
// - each_pixel(slots, make), each_voxel(slots, make): call the functor with every index
// - sum_pixels(which, slots, make), sum_voxels(which, slots, make): also add up results in StepSums
// - step(slots, make): the functor stores the next estimate in Slot::correction and returns what it
//   adds to the point
// - sum_voxels_of_grid(which, slots, make), step_of_grid(slots, make): the same for functors of an
//   index and its Neighbors, if steps do not overwrite neighbors (steps_overwrite_neighbors); else
//   find_divisors() makes Slot::divisors
// - settings(), start(): constants of the execution, and of this iteration

#include <array>
#include <limits>
#include <memory>
#include <string_view>

#include "convolume/deconvolver.hpp"
#include "core/short_float.hpp"
#include "deconvolve/methods/variation.hpp"

namespace convolume::deconvolve {

struct DeconvolutionProblem;
struct LoadedImage;

/// The arrays of an iteration, of the object's extents or of the image's.
enum class ArrayRole {
    point,         ///< object: where the step starts
    correction,    ///< object: what is projected back, then the next estimate
    other_object,  ///< object: of methods that project two images back
    weights,       ///< object: what each voxel sends into the image, Aᵀ1
    data,          ///< image: what was recorded
    held,          ///< image: photons that are held out
    model,         ///< image: the blurred point, then what is projected back
    other_image,   ///< image: of methods that project two images back
    divisors,      ///< object: weights plus the slope of a penalty
    solution,      ///< object, of linear systems
    residual,      ///< object, of linear systems
    direction,     ///< object, of linear systems
    product,       ///< object, of linear systems: the system's matrix times the direction
};

/// Arrays and abilities of a method. Executors and placement decide by these.
struct MethodTraits {
    /// Pixels count photons: negative ones are read as 0, saturated ones may be left out, and some
    /// photons may be held out.
    bool counts_photons = true;
    /// Its functors are those of the passes (row_loops.hpp, richardson_lucy_elements.hpp), which
    /// may take them while samples are in registers or a cache: a ratio of data and model, and a
    /// step that multiplies the point.
    bool fits_passes = false;
    bool uses_neighbors = false;   ///< steps look at the voxels beside each
    bool has_unmatched = false;    ///< the first steps use another back projector
    bool solves_system = false;    ///< conjugate gradients: their arrays, and no weights
    bool keeps_previous = false;   ///< the estimate before the last one
    bool keeps_change = false;     ///< what the last step added to its point
    bool draws_halves = false;     ///< of the photons, in each iteration: two images go back
    bool starts_coarsely = false;  ///< may begin on coarser images
    int projections = 1;           ///< pairs of blur() and blur_back() in an iteration
};

/// Starting point of a step: the current estimate, or an extrapolation beyond it.
struct StepStart {
    int iteration = 1;
    richardson_lucy::Extrapolation extrapolation{0, 0};
    bool restart = true;     ///< the previous estimate is unknown or not to be used
    bool unmatched = false;  ///< the step uses the other back projector
    /// Formats of the last change and of this one, where these are kept in 16 bits.
    ShortFormat last_format, format;
    /// The step is refused where its starting point has a larger objective.
    double most = std::numeric_limits<double>::infinity();
    /// The misfit is not needed, so passes may skip it.
    bool without_misfit = false;
    /// Conjugate gradients: length of the last step, and the factor of the last direction in the
    /// next one. Both are applied before the iteration.
    float length = 0, factor = 0;
};

/// Sums of an iteration: over pixels, over the step, and further ones of the method.
using StepSums = std::array<SumPair, 3>;
enum SumIndex : std::size_t { pixel_sums = 0, step_sums = 1, extra_sums = 2 };

/// Result of one step.
struct StepResult {
    bool refused = false;  ///< the estimate is what it was; the previous one is lost
    StepSums sums{};
    double misfit() const { return sums[pixel_sums].first; }
    double held_out() const { return sums[pixel_sums].second; }  ///< squared errors
    /// The change times the last one, and the last one squared.
    SumPair products() const { return sums[step_sums]; }
    double penalty() const { return sums[extra_sums].first; }
    double objective() const { return misfit() + penalty(); }
};

/// The scalars of a method between iterations: where steps start, and when they have converged.
class MethodState {
  public:
    virtual ~MethodState() = default;
    virtual StepStart start(int iteration) = 0;
    /// The step that was started last was refused: the next start is the estimate itself.
    virtual void refused() {}
    enum class LoopDecision { go_on, converged, discard };
    /// Takes what became of the iteration into account, and completes what the caller is told.
    /// `discard`: the iteration found nothing, and does not count.
    virtual LoopDecision finished(const StepResult& result, Iteration& iteration) = 0;
    /// Whether results tell where later steps start, or when they end.
    virtual bool needs_results() const = 0;
    /// The part of the last step that waits for the next start (Executor::complete).
    virtual StepStart pending() const { return {}; }
};

/// Constants of an execution.
struct StepSettings {
    richardson_lucy::PixelModel model{0, 0};
    float held_share = 0;  ///< what is held out, as a share of the model; 0: nothing
    PhotonScale photons;
    float tv_weight = 0;
    TotalVariation variation;
    float noise_to_signal = 0;
};

}  // namespace convolume::deconvolve
