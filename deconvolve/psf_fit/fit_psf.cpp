// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/psf_fit.hpp"
#include "convolume/volume.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "deconvolve/caller_images.hpp"
#include "deconvolve/estimates/brightest_part.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/formulas.hpp"
#include "deconvolve/missing/plane_bands.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/problem.hpp"

namespace convolume {

using namespace deconvolve;

namespace {

// Returns the extents of a part with all planes, as square as the image allows.
Shape3 part_of(const Shape3& image) {
    const auto edge =
        static_cast<index_t>(std::sqrt(static_cast<double>(common::enough / image.z)));
    const index_t wanted = std::max(search::least_part_extent, edge);
    return {image.z, std::min(image.y, wanted), std::min(image.x, wanted)};
}

// Reads the brightest part of the image as float32.
Volume read_part(ImageSource& image, int threads) {
    constexpr index_t most_bytes = index_t{128} << 20;
    const Shape3 shape = image.format().shape;
    BrightestPart brightest(shape, part_of(shape), threads);
    for_each_band(image, 0, 0, most_bytes, [&](index_t, const ImageView& planes) {
        auto* const values = static_cast<float*>(planes.data);
        const index_t plane = shape.y * shape.x;
        for (index_t i = 0; i < planes.shape.z * plane; ++i)
            if (values[i] >= missing_pixel) values[i] = richardson_lucy::not_compared;
        for (index_t k = 0; k < planes.shape.z; ++k) brightest.add_plane(values + k * plane);
    });
    const Box3 box = brightest.find();
    Volume pixels(box.shape(), image.format().type), part(box.shape(), PixelType::float32);
    image.read_box(0, 0, box, pixels.view());
    convert_pixels(pixels.view(), part.view(), 0);
    return part;
}

// Ends the iterations once the held-out photons were predicted best.
struct PredictionEnded {};

// Prediction of half of the photons by the other half and a PSF.
class HalfPrediction {
  public:
    HalfPrediction(Volume part, const PsfFitOptions& options, const EngineChoice& engines,
                   const ExecutionContext& context)
        : part_(std::move(part)), engines_(engines), threads_(thread_count(engines.threads)) {
        context_.stop = context.stop;
        options_.saturation = options.saturation;
        options_.iterations = haze::most_iterations;
        options_.hold_out = true;
        options_.coarse_start = usual_coarse_start;
        measure_noise();
        set_photons(options_, photons_);
    }

    // Returns the error of predicting half of the photons (FittedPsf::error).
    double error_of(const PsfOptions& model) {
        PsfOptions sized = model;
        // What is farther away than half of the part is mostly light of an object outside.
        const Shape3& part = part_.shape();
        const Shape3 most{2 * part.z - 1, part.y / 2 * 2 + 1, part.x / 2 * 2 + 1};
        for (int axis = 0; axis < 3; ++axis)
            sized.size[axis] = std::min(sized.size[axis], most[axis]);
        const Psf psf = make_psf(sized, context_);
        DeconvolutionProblem problem =
            resolve_problem(part_.shape(), psf.values.view(), options_, threads_);
        problem.held_out_halvings = 1;
        problem.dark_level = DarkLevel::make(problem, threads_);
        std::string why_not_on_device;
        const auto runner = place(problem, engines_, why_not_on_device);
        double least = std::numeric_limits<double>::infinity();
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
            if (!iteration.searching) throw PredictionEnded();
            least = std::min(least, iteration.held_out * iteration.held_out);
        };
        const auto start = CoarseStart::make(
            problem,
            [&](const DeconvolutionProblem& coarse) {
                return place(coarse, engines_, why_not_on_device);
            },
            threads_);
        HostImages images(std::as_const(part_).view(), {}, {start.get(), nullptr});
        try {
            runner->execute(problem, images, context_, run);
        } catch (const PredictionEnded&) {
        }
        return least / noise_;
    }

  private:
    // Estimates the photons of the pixels, and the noise of half of them.
    void measure_noise() {
        const std::optional<NoiseFit> noise =
            estimate_photon_scale(part_.view(), threads_, options_.saturation);
        if (!noise || noise->is_filtered)
            throw BadData(
                "the noise of the image does not tell its photons, without which PSFs cannot be "
                "compared: give an image as it was recorded");
        photons_ = {noise->gain, noise->offset};
        double sum = 0;
        index_t compared = 0;
        for (index_t i = 0; i < element_count(part_.shape()); ++i) {
            const float value = part_.elements<float>()[i];
            if (PixelBounds{options_.saturation}.apply_to(value)) continue;
            sum += std::max(0.0, static_cast<double>(value) - photons_.offset);
            ++compared;
        }
        // Half of a pixel's photons vary by half of their number.
        noise_ = 0.5 * mean_of(sum, compared) / photons_.gain;
    }

    Volume part_;
    EngineChoice engines_;
    int threads_;
    ExecutionContext context_;
    DeconvolveOptions options_;
    PhotonScale photons_;
    double noise_ = 1;  // variance of a pixel's held-out photons
};

// A parameter that is changed in steps.
struct Parameter {
    const char* name;
    const char* unit;
    double Objective::*of_objective;  // null: the depth
    double step, least_step;
    double low, high;

    double& in(PsfOptions& model) const {
        return of_objective != nullptr ? model.objective.*of_objective : model.depth_um;
    }
};

// Steps begin with a change that shows, and end where the image hardly tells the difference.
std::vector<Parameter> parameters_of(const PsfOptions& model) {
    const Objective& lens = model.objective;
    constexpr double margin = 0.002;
    const double medium =
        has_layers(model.model) ? std::min({lens.ni, lens.ni0, lens.ng, lens.ng0}) : lens.ni;
    std::vector<Parameter> all{{"NA", "", &Objective::na, 0.08 * lens.na, 0.015 * lens.na,
                                0.6 * lens.na, std::min(1.15 * lens.na, medium - margin)}};
    if (!has_layers(model.model)) return all;
    // From water to the index of glass.
    all.push_back({"index of the sample", "", &Objective::ns, 0.05, 0.01, 1.33, 1.54});
    all.push_back({"depth", " µm", nullptr, 4, 0.5, 0, 100});
    all.push_back(
        {"cover glass", " µm", &Objective::tg_um, 8, 1, lens.tg0_um - 50, lens.tg0_um + 50});
    return all;
}

// Changes one parameter after another while the error falls.
class StepSearch {
  public:
    StepSearch(HalfPrediction& prediction, const PsfOptions& model, int most,
               const ExecutionContext& context)
        : prediction_(prediction), most_(most), context_(context), best_(model) {
        error_ = first_error_ = error_of(model);
    }

    void run() {
        std::vector<Parameter> parameters = parameters_of(best_);
        // The usual cause first: a specimen that is mounted in a medium like the immersion.
        PsfOptions matched = best_;
        matched.objective.ns = matched.objective.ni;
        if (has_layers(best_.model)) take_if_better(matched);
        for (bool goes_on = true; goes_on && comparisons_ < most_;) {
            goes_on = false;
            for (Parameter& parameter : parameters) {
                if (parameter.step < parameter.least_step) continue;
                if (!improve(parameter)) parameter.step /= 2;
                goes_on = true;
            }
        }
    }

    FittedPsf result(const PsfOptions& given) const {
        FittedPsf fitted{best_, first_error_, error_, comparisons_, {}};
        for (const Parameter& parameter : parameters_of(given)) {
            PsfOptions before = given, after = best_;
            const double from = parameter.in(before), to = parameter.in(after);
            if (from == to) continue;
            const auto rounded = [](double value) { return std::round(1e3 * value) / 1e3; };
            fitted.changes += message(fitted.changes.empty() ? "" : ", ", parameter.name, ' ',
                                      rounded(from), " → ", rounded(to), parameter.unit);
        }
        return fitted;
    }

  private:
    double error_of(const PsfOptions& model) {
        throw_if_stopped();
        const double error = prediction_.error_of(model);
        ++comparisons_;
        if (context_.progress)
            context_.progress(static_cast<double>(comparisons_) / static_cast<double>(most_));
        return error;
    }
    bool take_if_better(const PsfOptions& model) {
        if (comparisons_ >= most_) return false;
        const double error = error_of(model);
        if (!(error < (1 - psf_fit::least_gain) * error_)) return false;
        best_ = model;
        error_ = error;
        return true;
    }
    // Goes in the direction that helps, until it does not. Returns whether one does.
    bool improve(const Parameter& parameter) {
        for (const int sign : {-1, 1}) {
            bool improved = false;
            for (;;) {
                PsfOptions next = best_;
                double& value = parameter.in(next);
                const double before = value;
                value = std::clamp(value + sign * parameter.step, parameter.low, parameter.high);
                if (value == before || !take_if_better(next)) break;
                improved = true;
            }
            if (improved) return true;
        }
        return false;
    }

    HalfPrediction& prediction_;
    int most_;
    const ExecutionContext& context_;
    PsfOptions best_;
    double error_ = 0, first_error_ = 0;
    int comparisons_ = 0;
};

}  // namespace

FittedPsf fit_psf(ImageSource& image, const PsfOptions& model, const PsfFitOptions& options,
                  const EngineChoice& engines, const ExecutionContext& context) {
    const StackFormat format = image.format();
    if (format.volumes() != 1)
        throw InvalidArgument(message("the image has ", format.channels, " channels and ",
                                      format.frames, " times: choose one by SourceChannel"));
    if (is_complex(format.type)) throw BadData("the image is complex: give its intensity");
    if (format.shape.z < psf_fit::fewest_planes)
        throw InvalidArgument(message("the image has ", format.shape.z,
                                      format.shape.z == 1 ? " plane" : " planes",
                                      ", but a PSF is fitted by how light spreads out of focus: "
                                      "give at least ",
                                      psf_fit::fewest_planes));
    const StopScope scope(context.stop);
    HalfPrediction prediction(read_part(image, thread_count(engines.threads)), options, engines,
                              context);
    StepSearch search(prediction, model, options.most_comparisons, context);
    search.run();
    return search.result(model);
}

}  // namespace convolume
