// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "deconvolve/formulas.hpp"
#include "deconvolve/option_table.hpp"
#include "deconvolve/registry.hpp"

namespace convolume::deconvolve {

namespace {

void check_number(const char* name, double value, bool zero_allowed) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed))
        throw InvalidArgument(message("the ", name, " is ", value, ": give a finite number ",
                                      zero_allowed ? "from 0" : "above 0"));
}

void check_options(const DeconvolveOptions& options, const MethodTraits& traits) {
    if (*options.iterations < 1)
        throw InvalidArgument(
            message(*options.iterations, " iterations were asked for: at least 1 is needed"));
    if (options.boundary && options.boundary->kind == BoundaryKind::constant)
        throw InvalidArgument(
            "a constant boundary is no edge of an object: choose extend, or give the constant as "
            "background");
    if (options.background && !std::isfinite(*options.background))
        throw InvalidArgument(
            message("the background is ", *options.background, ": give a finite number"));
    if (traits.counts_photons && options.background && *options.background < 0)
        throw InvalidArgument(message("the background is ", *options.background,
                                      ", but counts of photons start at 0: add a constant to "
                                      "the image and to it"));
    if (options.tv_weight) check_number("weight of the total variation", *options.tv_weight, true);
    if (options.roughness) check_number("weight of the roughness", *options.roughness, true);
    check_number("noise-to-signal ratio", options.noise_to_signal, false);
    check_number("consensus", options.consensus, true);
    if (options.saturation && !std::isfinite(*options.saturation))
        throw InvalidArgument(
            message("the saturation is ", *options.saturation, ": give a finite number"));
    if (options.unmatched < 0)
        throw InvalidArgument(message(options.unmatched,
                                      " steps with the unmatched back projector "
                                      "were asked for: give a number from 0"));
    if (*options.coarse_start < 0)
        throw InvalidArgument(message(*options.coarse_start,
                                      " iterations on coarser images were asked for: give a number "
                                      "from 0 as coarse start"));
    if (options.stop && !(*options.stop >= 0 && *options.stop < 1))
        throw InvalidArgument(message("the stop criterion is ", *options.stop,
                                      ": give a fraction from 0 to below 1"));
    if (options.hold_out && !traits.counts_photons)
        throw InvalidArgument(
            message(to_string(options.method),
                    " has no photons to hold out: choose another method, or end it by its ",
                    traits.solves_system ? "residual" : "misfit", " (stop)"));
    if (options.hold_out && traits.stops_by_residual)
        throw InvalidArgument(message(to_string(options.method),
                                      " iterates until it has converged, for which no photons are "
                                      "held out: give the residual to stop at as a number"));
    if (options.hold_out && options.stop)
        throw InvalidArgument(
            "iterations end by held-out photons or by a stop criterion: choose "
            "one of them");
    constexpr int least_splits = 2, most_splits = 64;
    if (options.splits != 0 && (options.splits < least_splits || options.splits > most_splits))
        throw InvalidArgument(message("the photons are divided ", options.splits,
                                      " times: give a number of splits from ", least_splits, " to ",
                                      most_splits));
    if (options.gain) check_number("gain", *options.gain, false);
    if (options.offset && !std::isfinite(*options.offset))
        throw InvalidArgument(message("the offset is ", *options.offset, ": give a finite number"));
    check_number("read noise", options.read_noise, true);
    if (options.read_noise > 0 && !options.offset)
        throw InvalidArgument(
            sentence("an offset that is seen from the noise contains the read noise: leave out ",
                     OptionName{"read_noise"}, ", or give the offset, too"));
    if (traits.counts_photons && options.offset && options.background &&
        *options.offset > *options.background)
        throw InvalidArgument(message("the offset is ", *options.offset,
                                      ", but the background, which includes it, is ",
                                      *options.background, ": leave one of them out"));
    if (options.has_pixel_weights) require_option(options.method, "weights");
    if (options.has_pixel_weights && *options.coarse_start > 0)
        throw InvalidArgument(
            sentence("coarser images do not have the weights of pixels: leave out ",
                     OptionName{"coarse_start"}, ", or the weights"));
    for (int axis = 0; axis < 3; ++axis) check_number("voxel size", options.voxel[axis], false);
}

// Adds what `add(row, stride, sums)` finds in each row. Sums of groups of rows do not depend on the
// number of threads.
template <class Sums, class Add>
Sums sum_rows(const ConstImageView& psf, int threads, const Add& add) {
    const index_t groups = row_groups(psf.shape);
    std::vector<Sums> of_groups(static_cast<std::size_t>(groups));
    for_each_row(psf, groups, threads,
                 [&](const auto* row, auto stride, index_t, index_t, index_t group) {
                     if constexpr (std::is_arithmetic_v<std::decay_t<decltype(*row)>>)
                         add(row, stride, of_groups[static_cast<std::size_t>(group)]);
                 });
    return std::accumulate(of_groups.begin(), of_groups.end(), Sums{});
}

struct TapSums {
    double all = 0;
    double light = 0;  ///< sum of the samples above 0
    index_t negative = 0;

    TapSums operator+(const TapSums& other) const {
        return {all + other.all, light + other.light, negative + other.negative};
    }
};

TapSums sums_of(const ConstImageView& psf, int threads) {
    const index_t width = psf.shape.x;
    return sum_rows<TapSums>(psf, threads, [&](const auto* row, auto stride, TapSums& sums) {
        double all = 0, light = 0;
        index_t negative = 0;
#pragma omp simd reduction(+ : all, light, negative)
        for (index_t x = 0; x < width; ++x) {
            const auto value = static_cast<double>(row[x * stride]);
            all += value;
            light += value > 0 ? value : 0;
            negative += value < 0;
        }
        sums = sums + TapSums{all, light, negative};
    });
}

void check_psf(const ConstImageView& psf) {
    if (is_complex(psf.type))
        throw BadData("the PSF is complex: give its intensity, which is real");
    check_not_empty(psf.shape, "the PSF");
    check_memory(psf, "the PSF");
}

// Sets the PSF of a problem, with negative samples as 0: they are the noise of a measurement, since
// light is not negative.
void set_psf(const ConstImageView& psf, int threads, DeconvolutionProblem& problem) {
    check_psf(psf);
    const TapSums sums = sums_of(psf, threads);
    if (!std::isfinite(sums.all)) {
        if (const auto found = pixels::find_nonfinite(psf, threads))
            throw BadData(message("the PSF holds ", found->value, " at z,y,x = ",
                                  to_string(found->index, ","), ": replace it by a finite number"));
        throw BadData("the samples of the PSF are too large to be added: divide them by a number");
    }
    if (sums.negative == element_count(psf.shape))
        throw BadData(
            "the PSF has negative samples only, and light is not negative: check its sign");
    problem.psf_sum = sums.all;
    problem.negative_psf_samples = sums.negative;
    problem.has_light = sums.light > 0;
    problem.psf = Volume(psf.shape, PixelType::float32);
    if (!problem.has_light) return;
    const index_t width = psf.shape.x;
    float* const taps = problem.psf.elements<float>();
    for_each_row(psf, row_groups(psf.shape), threads,
                 [&](const auto* row, auto stride, index_t z, index_t y, index_t) {
                     if constexpr (std::is_arithmetic_v<std::decay_t<decltype(*row)>>) {
                         float* const out = taps + (z * psf.shape.y + y) * width;
                         for (index_t x = 0; x < width; ++x) {
                             const auto value = static_cast<double>(row[x * stride]);
                             out[x] = value > 0 ? static_cast<float>(value / sums.light) : 0;
                         }
                     }
                 });
}

}  // namespace

Options DeconvolutionProblem::blur(Operation operation) const {
    Options convolution;
    convolution.mode = options.boundary ? Mode::same : Mode::valid;
    convolution.boundary = options.boundary.value_or(Boundary{});
    convolution.operation = operation;
    convolution.center = options.center;
    convolution.normalization = KernelNormalization::sum;
    convolution.nan = NanPolicy::propagate;  // the image was checked for NaN
    return convolution;
}

void check_unused(const DeconvolveOptions& options) {
    const DeconvolveOptions preset;
    require_used<DeconvolveOptions>(options, [&](const auto& field) {
        std::optional<std::string> value = option_value_text(field.get(options));
        if (value == option_value_text(field.get(preset))) value.reset();
        return value;
    });
    if (options.gain && !uses_gain(options))
        throw InvalidArgument(sentence(
            "nothing uses ", OptionName{"gain"},
            ": it is for a search for the number of iterations, the uncertainty, rlgc, and rl-tv "
            "and map without a weight; leave it out"));
    if (options.seed != preset.seed && options.splits == 0)
        throw InvalidArgument(sentence(OptionName{"seed"},
                                       " is that of the uncertainty, which is not estimated: leave "
                                       "it out, or ask for the uncertainty"));
}

void check_unused_of_image(const DeconvolveOptions& options) {
    check_unused(options);
    if (options.view_updates != ViewUpdates::simultaneous)
        throw InvalidArgument(sentence(OptionName{"view_updates"},
                                       " is of several views, and this is a single image; leave it "
                                       "out"));
}

DeconvolutionProblem resolve_problem(const Shape3& image, const ConstImageView& psf,
                                     const DeconvolveOptions& options, int threads) {
    DeconvolutionProblem problem;
    problem.options = resolved(options, image.z);
    problem.traits = traits_of(options);
    check_options(problem.options, problem.traits);
    problem.encodes_bounds = options.saturation == encoded_bounds().level;
    problem.image = image;
    problem.object = image;
    set_psf(psf, thread_count(threads), problem);
    Index3 center = center_index(options.center, psf);
    if (options.center.kind == KernelCenter::Kind::corner) {
        problem.psf = unwrapped_kernel(problem.psf.view());
        center = center_index({}, psf);
    }
    problem.options.center = {KernelCenter::Kind::explicit_, center};
    if (problem.traits.penalizes_variation() && problem.has_light)
        problem.squared_taps = squared_taps_of(problem.psf);
    if (problem.traits.has_unmatched && problem.psf_sum > 0)
        problem.unmatched = visit_method(options.method, [&](auto method) {
            using Method = decltype(method);
            if constexpr (requires { &Method::unmatched_taps; })
                return Method::unmatched_taps(problem.psf, center, options, thread_count(threads));
            else
                return Volume();
        });
    check_not_empty(image, "the image");
    for (int a = 0; a < 3; ++a) {
        if (options.boundary) continue;
        problem.object[a] = checked_add(image[a], psf.shape[a] - 1);
        problem.image_at[a] = psf.shape[a] - 1 - center[a];
    }
    return problem;
}

double squared_taps_of(const Volume& psf) {
    const index_t width = psf.shape().x;
    return sum_rows<double>(psf.view(), thread_count(0),
                            [&](const auto* row, auto stride, double& sum) {
                                for (index_t x = 0; x < width; ++x) {
                                    const auto tap = static_cast<double>(row[x * stride]);
                                    sum += tap * tap;
                                }
                            });
}

TapCopies::TapCopies(const std::vector<ConstImageView>& taps) {
    for (const ConstImageView& one : taps) {
        Volume& copy = copies_.emplace_back(one.shape, one.type);
        convert_pixels(one, copy.view(), 0);
    }
}

std::vector<ConstImageView> TapCopies::views() const {
    std::vector<ConstImageView> views;
    for (const Volume& copy : copies_) views.push_back(copy.view());
    return views;
}

bool can_convolve_by_passes(const DeconvolutionProblem& problem) {
    const std::optional<Boundary>& boundary = problem.options.boundary;
    return (!boundary || boundary->kind == BoundaryKind::zero) && problem.has_light;
}

EqualPlanes alike_planes(const DeconvolutionProblem& problem, const PairAxis& z,
                         const IndexRange& own) {
    EqualPlanes alike;
    if (!problem.compares_all() || problem.psf_varies()) return alike;
    const index_t last = own.count() - 1;
    alike.first = std::clamp<index_t>(z.shift - own.begin, 0, last);
    alike.last = std::clamp<index_t>(z.image + z.shift - z.taps - own.begin, alike.first, last);
    return alike;
}

float mark_of(float pixel, const DeconvolutionProblem& problem) {
    const std::optional<float> bound = problem.bounds().bound_of(pixel);
    if (!bound || problem.traits.draws_halves) return richardson_lucy::not_compared;
    return richardson_lucy::saturated_mark(*bound);
}

void check_start(const DeconvolutionProblem& problem, const ConstImageView& start) {
    if (start.data == nullptr) return;
    if (!uses_option(problem.options.method, "start"))
        throw InvalidArgument(message(to_string(problem.options.method),
                                      " solves an equation and begins with nothing: leave the "
                                      "initial estimate out, or choose another method"));
    if (start.shape != problem.object && start.shape != problem.image)
        throw InvalidArgument(message("the initial estimate has the shape ", to_string(start.shape),
                                      " (z×y×x), but this deconvolution was planned for ",
                                      to_string(problem.image), ": plan another one"));
    if (is_complex(start.type))
        throw BadData("the initial estimate is complex: give its real part");
}

void check_pixel_weights(const DeconvolutionProblem& problem, const ConstImageView& weights) {
    if (!problem.options.has_pixel_weights) {
        if (weights.data == nullptr) return;
        throw InvalidArgument(
            "weights of pixels were not planned: set has_pixel_weights, and plan again");
    }
    if (weights.data == nullptr)
        throw InvalidArgument("weights of pixels were planned, but there are none: give them");
    if (weights.shape != problem.image || is_complex(weights.type))
        throw InvalidArgument(message("the weights of pixels are ", to_string(weights.shape),
                                      " (z×y×x) of ", to_string(weights.type),
                                      ": give a real number for each pixel of the image, which is ",
                                      to_string(problem.image)));
}

ArrayCounts array_counts(const DeconvolutionProblem& problem) {
    const MethodTraits& traits = problem.traits;
    if (traits.solves_system)
        return {4, 1};         // object: solution, residual, direction, product; image: model
    ArrayCounts counts{3, 2};  // object: estimate, correction, weights; image: data, model
    counts.object += problem.parts - 1;  // weights of each part
    if (traits.keeps_previous) ++counts.object;
    if (traits.keeps_change) ++counts.object;
    if (problem.options.hold_out) ++counts.image;
    if (problem.options.has_pixel_weights) ++counts.image;
    if (traits.draws_halves) {
        ++counts.object;
        ++counts.image;
    }
    return counts;
}

void check_gpu_arrays(const char* arrays, index_t bytes, index_t limit_bytes) {
    if (bytes >= limit_bytes)
        throw OutOfMemory(message(arrays, " take ", format_bytes(bytes), " of the ",
                                  format_bytes(limit_bytes), " that a GPU may hold"),
                          MemoryKind::gpu);
}

index_t array_bytes(const DeconvolutionProblem& problem) {
    const ArrayCounts counts = array_counts(problem);
    const index_t elements =
        checked_add(checked_multiply(counts.object, element_count(problem.object)),
                    checked_multiply(counts.image, problem.pixels()));
    return checked_multiply(elements, static_cast<index_t>(sizeof(float)));
}

}  // namespace convolume::deconvolve
