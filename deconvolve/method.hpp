// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of deconvolution as data. Each method is a struct in a file of its own in
// deconvolve/methods; the struct has the file's name. The list of all is made of that folder
// (registry.hpp), so that no other file names a method. Members of the struct are
//
// - name, help, aliases: its name, a few words for --help, and further names
// - method: its enumerator of DeconvolveMethod, whose order is that of --help. A method without one
//   is last there; callers get its value by parse_deconvolve_method()
// - option_names: those of the options that only some methods use
// - traits(options): the arrays and abilities that it needs (MethodTraits)
// - unmatched_taps(psf, center, options, threads): taps of the other back projector, if
//   MethodTraits::has_unmatched
// - state(problem, image): its scalars between iterations (MethodState)
// - iterate(operations): an iteration as a list of operations, which every executor carries out
// - fits_passes, if true: the iteration has no other operations than those of the first list
//
// The operations name arrays by their role (ArrayRole). Passes fuse these: they compute them while
// samples are in registers or a cache (row_loops.hpp, ElementFunctor).
//
// - load_point(): makes the starting point from the last estimates
// - blur(object, image): image = A object, once for each of MethodTraits::projections
// - compare(less): replaces the model by the ratio of data and model minus `less`, and adds up the
//   misfit
// - blur_back(image, object): object = Aᵀ image
// - back_project_unmatched(image, object): projects back by the method's other back projector
// - update(rule): steps by a rule (MatchedRule, UnmatchedRule) of point, correction and weights, or
//   other divisors, with `update<role>(rule)`
// - settings(), start(): constants of the execution, and of this iteration
//
// All others call functors, which work on arrays of samples. `make` makes a functor from `at`, the
// views of the samples at hand: at.object(role), at.image(role), at.data(), at.weights(),
// at.held_out() (null: no data are held out), at.pixel_numbers(). `roles` are those of the arrays
// that the functor reads and writes.
//
// - each_voxel(roles, make): calls the functor with every index
// - sum_pixels(which, roles, make), sum_voxels(which, roles, make): also add up results in StepSums
// - step(roles, make): the functor stores the next estimate as the correction and returns the
//   change that it adds to the point
// - sum_voxels_of_grid(which, roles, make), step_of_grid(roles, make): sum_voxels() and step() for
//   functors of an index and its NeighborOffsets. An executor whose steps overwrite neighbors
//   (steps_overwrite_neighbors) offers find_divisors() instead, which makes the divisors

#include <array>
#include <limits>

#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"
#include "core/short_float.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/roughness.hpp"
#include "deconvolve/variation.hpp"

namespace convolume::deconvolve {

struct DeconvolutionProblem;
struct LoadedImage;

/// Roles of the arrays of an iteration, which have the object's or the image's extents.
enum class ArrayRole {
    point,          ///< object array: starting point of the step
    correction,     ///< object array: back projection, then the next estimate
    other_object,   ///< object array: second back projection, if a method has two
    weights,        ///< object array: light that each voxel sends into the image, Aᵀ1
    data,           ///< image array: recorded pixels
    held_out,       ///< image array: photons that are held out
    pixel_weights,  ///< image array: weights of pixels in the likelihood
    model,          ///< image array: blurred point, then the image that is projected back
    other_image,    ///< image array: second image that is projected back, if a method has two
    divisors,       ///< object array: weights plus slopes of a penalty
    solution,       ///< object array: solution of a linear system
    residual,       ///< object array: residual of a linear system
    direction,      ///< object array: conjugate direction of a linear system
    product,        ///< object array: matrix of a linear system times the direction
};
inline constexpr std::size_t array_roles = static_cast<std::size_t>(ArrayRole::product) + 1;

/// Penalty of a method's steps, for which they read the voxels beside each voxel.
enum class NeighborPenalty {
    none,
    variation,  ///< total variation (variation.hpp)
    roughness,  ///< Good's roughness (roughness.hpp)
};

/// Arrays and abilities that a method needs. Executors and placement decide by these.
struct MethodTraits {
    /// Pixels count photons: negative pixels are read as 0, saturated ones may be left out, and
    /// some photons may be held out.
    bool counts_photons = true;
    bool fits_passes = false;  ///< that of the method's struct, see above
    NeighborPenalty penalty = NeighborPenalty::none;
    bool has_unmatched = false;  ///< whether the first steps use another back projector
    /// Whether the method is conjugate gradients, with arrays of its own and without weights.
    bool solves_system = false;
    bool keeps_previous = false;  ///< whether steps need the estimate before the newest one
    bool keeps_change = false;    ///< whether steps keep the change that they add to their point
    /// Whether each iteration divides the photons, and projects two images back.
    bool draws_halves = false;
    bool starts_coarsely = false;    ///< whether iterations may start on coarser images
    bool stops_by_residual = false;  ///< whether DeconvolveOptions::stop is that of a residual
    int projections = 1;             ///< number of pairs of blur() and blur_back() in an iteration
    /// Number of iterations if it is left open and no search finds it.
    int usual_iterations = numbers::usual_iterations;

    bool penalizes_variation() const { return penalty == NeighborPenalty::variation; }
    bool penalizes_roughness() const { return penalty == NeighborPenalty::roughness; }
    /// Whether walks can carry out the iterations. They keep no neighbors for a roughness.
    bool fits_walks() const { return !penalizes_roughness(); }
};

/// Starting point of a step: the current estimate, or an extrapolation beyond it.
struct StepStart {
    int iteration = 1;
    richardson_lucy::Extrapolation extrapolation{0, 0};
    bool restart = true;     ///< whether the previous estimate is unknown, or must not be used
    bool unmatched = false;  ///< whether the step uses the other back projector
    /// Formats of the last change and of this step's change, if changes are kept in 16 bits.
    ShortFormat last_format, format;
    /// The step is refused if the objective at its starting point is larger.
    double objective_limit = std::numeric_limits<double>::infinity();
    /// The misfit is not needed, so passes may skip it.
    bool skips_misfit = false;
    /// Conjugate gradients: length of the last step, and the factor of the last direction in the
    /// next direction. Both are applied before the iteration.
    float length = 0, factor = 0;
};

/// Sums of an iteration: over pixels, over the step, and one more pair of the method.
using StepSums = std::array<SumPair, 3>;
enum SumIndex : std::size_t { pixel_sums = 0, step_sums = 1, extra_sums = 2 };

struct StepResult {
    bool refused = false;  ///< whether the estimate is unchanged, and the previous one is lost
    StepSums sums{};
    double misfit() const { return sums[pixel_sums].first; }
    double held_out() const {
        return sums[pixel_sums].second;
    }  ///< sum of squared errors of the prediction of held-out data
    /// Sums of the change times the last change, and of the last change squared.
    SumPair products() const { return sums[step_sums]; }
    double penalty() const { return sums[extra_sums].first; }
    double objective() const { return misfit() + penalty(); }
};

/// The scalars of a method between iterations, which say where steps start and when they have
/// converged.
class MethodState {
  public:
    virtual ~MethodState() = default;
    virtual StepStart start(int iteration) = 0;
    /// Says that the step started last was refused: the next one starts at the estimate itself.
    virtual void refused() {}
    enum class LoopDecision { go_on, converged, discard };
    /// Takes the result of an iteration, completes the caller's report of it, and decides how the
    /// loop goes on. Returns `discard` if the iteration found nothing and does not count.
    virtual LoopDecision decide_after(const StepResult& result, Iteration& iteration) = 0;
    /// Whether the start of later steps, or the end of the loop, depends on results.
    virtual bool needs_results() const = 0;
    /// Returns the part of the last step that is applied before the next one (Executor::complete).
    virtual StepStart pending() const { return {}; }
};

/// Constants of an execution.
struct StepSettings {
    richardson_lucy::PixelModel model{0, 0};
    /// Share of the model that held-out data are expected to be; 0: none are held out.
    float held_out_share = 0;
    PhotonScale photons;
    float tv_weight = 0;
    TotalVariation variation;
    Roughness roughness;
    float noise_to_signal = 0;
};

/// Base of operations that call functors: carries out compare() and update() by these.
template <class Operations>
class FunctorOperations {
  public:
    static constexpr bool fuses_passes = false;

    void compare(float less) {
        Operations& all = static_cast<Operations&>(*this);
        const StepSettings& settings = all.settings();
        const auto ratio = [&](const auto& at) {
            return DataRatio{at.data(), at.image(ArrayRole::model), settings.model, less};
        };
        if (settings.held_out_share == 0)
            all.sum_pixels(pixel_sums, {ArrayRole::data, ArrayRole::model}, ratio);
        else
            all.sum_pixels(
                pixel_sums, {ArrayRole::data, ArrayRole::held_out, ArrayRole::model},
                [&](const auto& at) {
                    return RatioWithHeldOut{ratio(at), at.held_out(), settings.held_out_share};
                });
    }
    template <ArrayRole divisors = ArrayRole::weights, class Rule>
    void update(const Rule& rule) {
        static_cast<Operations&>(*this).step(
            {ArrayRole::point, ArrayRole::correction, divisors}, [&](const auto& at) {
                float* const correction = at.object(ArrayRole::correction);
                if constexpr (divisors == ArrayRole::weights)
                    return RuleStep{at.object(ArrayRole::point), correction, at.weights(), rule};
                else
                    return RuleStep{at.object(ArrayRole::point), correction,
                                    Weights{at.object(divisors)}, rule};
            });
    }
};

/// Base of operations that passes fuse. Steps overwrite their point, and a total variation needs
/// neighbors, which only walks keep (find_divisors).
struct FusedOperations {
    static constexpr bool fuses_passes = true;
    static constexpr bool steps_overwrite_neighbors = true;
    static void find_divisors() {
        throw InternalError("passes that keep no neighbors do not find divisors");
    }
};

}  // namespace convolume::deconvolve
