// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/held_out_search.hpp"
#include "deconvolve/registry.hpp"

namespace convolume::deconvolve {

ExecutionContext progress_between(const ExecutionContext& context, double from, double to) {
    ExecutionContext own;
    own.stop = context.stop;
    if (context.progress)
        own.progress = [&context, from, to](double fraction) {
            context.progress(from + (to - from) * fraction);
        };
    return own;
}

namespace {

/// A loop of iterations: asks the method where each starts, and decides when they end.
class IterationLoop {
  public:
    IterationLoop(Executor& executor, const DeconvolutionProblem& problem, const LoadedImage& image,
                  float held_out_share, IterationProgress& progress, int iterations)
        : executor_(executor),
          pixels_(static_cast<double>(problem.pixels())),
          held_out_share_(held_out_share),
          progress_(progress),
          iterations_(iterations),
          state_(
              visit_method(problem.options.method,
                           [&](auto method) { return decltype(method)::state(problem, image); })),
          may_end_(held_out_share > 0 || state_->needs_results()),
          needs_misfit_(may_end_ || progress.wants_reports()) {}

    IterationOutcome run() {
        for (int k = 1; k <= iterations_;) {
            const int most = may_end_ ? 1 : executor_.most_fused_iterations();
            const int fused =
                std::min({iterations_ - k + 1, most, progress_.iterations_until_read(k)});
            if (fused > 1) {
                std::vector<StepStart> starts;
                for (int i = 0; i < fused; ++i) starts.push_back(state_->start(k + i));
                bool is_last = false;
                for (const StepResult& result : executor_.iterate_fused(starts, progress_))
                    is_last = finish_iteration(k++, result);
                if (is_last) break;
            } else {
                const bool is_last = finish_iteration(k, step(k));
                ++k;
                if (is_last) break;
            }
        }
        executor_.complete(state_->pending());
        return outcome_;
    }

  private:
    StepStart start_of(int k) {
        StepStart start = state_->start(k);
        start.skips_misfit = !needs_misfit_ && k < iterations_;
        return start;
    }
    StepResult step(int k) {
        StepResult result = executor_.iterate(start_of(k), progress_);
        if (!result.refused) return result;
        state_->refused();
        ++outcome_.report.restarts;
        return executor_.iterate(start_of(k), progress_);
    }

    /// Reports iteration `k`. Returns whether it is the last one.
    bool finish_iteration(int k, const StepResult& result) {
        if (!std::isfinite(result.objective()))
            throw BadData("the estimate overflowed float32: scale the image to smaller numbers");
        Iteration iteration;
        iteration.number = k;
        iteration.of = iterations_;
        iteration.searching = held_out_share_ > 0;
        if (held_out_share_ > 0) iteration.held_out = std::sqrt(result.held_out() / pixels_);
        const MethodState::LoopDecision decision = state_->decide_after(result, iteration);
        if (decision == MethodState::LoopDecision::discard) return true;
        outcome_.report.iterations = k;
        outcome_.report.last = iteration;
        if (progress_.may_read(k)) executor_.complete(state_->pending());
        const bool is_accepted = progress_.finished(iteration);
        if (held_out_share_ > 0) {
            if (result.held_out() < (1 - prediction::least_gain) * least_held_) {
                least_held_ = result.held_out();
                outcome_.best = k - 1;
            }
            if (k - 1 - outcome_.best >= search::least_patience) return true;
        }
        return is_accepted || decision == MethodState::LoopDecision::converged;
    }

    Executor& executor_;
    double pixels_;
    float held_out_share_;
    IterationProgress& progress_;
    int iterations_;
    std::unique_ptr<MethodState> state_;
    bool may_end_, needs_misfit_;
    IterationOutcome outcome_;
    double least_held_ = std::numeric_limits<double>::infinity();
};

}  // namespace

IterationOutcome iterate(Executor& executor, const DeconvolutionProblem& problem,
                         const LoadedImage& image, float held_out_share,
                         IterationProgress& progress, int iterations) {
    executor.begin(image, held_out_share);
    IterationOutcome outcome =
        IterationLoop(executor, problem, image, held_out_share, progress, iterations).run();
    outcome.report.roughness = roughness_of(problem, image);
    return outcome;
}

namespace {

// Prepares the image for a loop of iterations. Its first estimate comes from coarser images if the
// caller wants that and gave none.
class StartPreparation {
  public:
    StartPreparation(Executor& executor, const CallerImages& images,
                     const ExecutionContext& context, const DeconvolveRun& run_options,
                     const TimelineRow& row)
        : executor_(executor), context_(context), row_(row) {
        if (run_options.start.data == nullptr) coarse_ = images.coarse();
    }

    /// Returns the image whose `load_start` iterates on coarser images. These and the `iterations`
    /// that follow advance the progress from `from` to `to`. One photon in 2^halvings is held out
    /// of the image already.
    LoadedImage prepare(const LoadedImage& image, int halvings, IterationProgress& progress,
                        double from, double to, int iterations) {
        const double share =
            coarse_.start != nullptr ? coarse_.start->share_of_time(iterations) : 0;
        const double fine_from = from + share * (to - from);
        progress.begin(fine_from, to, iterations);
        LoadedImage prepared = image;
        if (coarse_.start == nullptr) return prepared;
        prepared.start_scale = 1;  // coarse estimates are of the photons that are left
        prepared.load_start = [=, this,
                               levels = ImageLevels{image.background, image.photons.offset},
                               held_out = HeldOutPhotons{photons_, halvings}](float level) {
            const PhaseTimer timer = row_.time_work();
            iterations_ += coarse_.start->begin(coarse_.image, levels, held_out, executor_, level,
                                                progress_between(context_, from, fine_from));
        };
        return prepared;
    }
    void set_photons(const PhotonScale& photons) { photons_ = photons; }
    /// Sets the numbers of iterations on coarser images, the finest first. Without numbers, there
    /// is no coarse start.
    void set_iterations(const std::vector<int>& numbers) {
        if (numbers.empty())
            coarse_.start = nullptr;
        else if (coarse_.start != nullptr)
            coarse_.start->set_iterations(numbers);
    }
    /// Sets the number of iterations on every coarser image, if there are any.
    void set_all_iterations(int number) {
        if (coarse_.start == nullptr) return;
        coarse_.start->set_iterations(std::vector<int>(coarse_.start->images().size(), number));
    }
    int iterations() const { return iterations_; }

  private:
    Executor& executor_;
    const ExecutionContext& context_;
    TimelineRow row_;
    CoarseStartSource coarse_;
    PhotonScale photons_;
    int iterations_ = 0;
};

// Finds the number of iterations that predicts held-out photons best, then takes as many with all
// photons.
IterationOutcome iterate_held_out(Executor& executor, const DeconvolutionProblem& problem,
                                  const LoadedImage& image, StartPreparation& preparation,
                                  IterationProgress& progress) {
    const int halvings = problem.held_out_halvings;
    const float share = std::ldexp(1.0F, -halvings);
    executor.hold_out(image.photons, halvings);
    const int most = *problem.options.iterations;
    const LoadedImage rest =
        preparation.prepare(without_held_out(image, share), halvings, progress, 0, 0.5, most);
    const IterationOutcome search =
        iterate(executor, problem, rest, share / (1 - share), progress, most);
    executor.put_back();
    const int best = std::max(1, search.best);
    const LoadedImage all = preparation.prepare(image, 0, progress, 0.5, 1, best);
    IterationOutcome outcome = iterate(executor, problem, all, 0, progress, best);
    outcome.report.searched = search.report.iterations;
    return outcome;
}

// Takes the usual numbers of iterations, since pixels whose neighbors share their noise have no
// photons to hold out.
IterationOutcome iterate_filtered(Executor& executor, const DeconvolutionProblem& problem,
                                  const LoadedImage& image, StartPreparation& preparation,
                                  IterationProgress& progress) {
    preparation.set_all_iterations(usual_coarse_start);
    const int most = std::min(filtered_iterations, *problem.options.iterations);
    const LoadedImage all = preparation.prepare(image, 0, progress, 0, 1, most);
    return iterate(executor, problem, all, 0, progress, most);
}

// The caller's context and run, and the row for the time of a search.
struct SearchContext {
    const ExecutionContext& caller;
    const DeconvolveRun& run;
    TimelineRow row;
};

// Finds the number of iterations, or the weight of a roughness, in a part of the image, and takes
// it for the whole image.
IterationOutcome iterate_searched(Executor& executor, const DeconvolutionProblem& problem,
                                  const LoadedImage& image, CallerImages& images,
                                  StartPreparation& preparation, IterationProgress& progress,
                                  const SearchContext& context) {
    const DeconvolveRun& run_options = context.run;
    HeldOutSearch& search = *images.search();
    const double share = search.share_of_time();
    const Box3 box = search.brightest();
    Volume part(search.part(), images.type());
    images.read(box, part.view());
    DeconvolveRun run;
    run.reads_every = 0;
    if (run_options.on_iteration)
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
            run_options.on_iteration(iteration, [](const ImageView&) {
                throw InvalidArgument(
                    "estimates of a search are of a part of the image and cannot be read: read "
                    "those of iterations that do not search");
            });
        };
    if (run_options.start.data != nullptr) {
        Box3 in_start = box;
        if (run_options.start.shape == problem.object)
            for (int a = 0; a < 3; ++a) {
                in_start.begin[a] += problem.image_at[a];
                in_start.end[a] += problem.image_at[a];
            }
        run.start = subview(run_options.start, in_start);
    }
    HeldOutSearch::Found found;
    {
        const PhaseTimer timer = context.row.time_work();
        found = search.find(std::as_const(part).view(), image, run,
                            progress_between(context.caller, 0, share));
    }
    part = {};
    preparation.set_iterations(found.coarse);
    LoadedImage all = preparation.prepare(image, 0, progress, share, 1, found.iterations);
    all.roughness = found.roughness;
    IterationOutcome outcome = iterate(executor, problem, all, 0, progress, found.iterations);
    outcome.report.searched = found.searched;
    return outcome;
}

// Writes the weights of pixels to the executor, divided by the largest one.
void load_pixel_weights(Executor& executor, const DeconvolutionProblem& problem,
                        const ConstImageView& weights) {
    float most = 0;
    load_start(weights, problem.image, {}, 0, executor.staging(),
               [&](const float* values, index_t first, index_t count) {
                   for (index_t i = 0; i < count; ++i) {
                       if (!(values[i] >= 0) || std::isinf(values[i])) {
                           const index_t plane = problem.image.y * problem.image.x;
                           const Index3 at{(first + i) / plane,
                                           (first + i) % plane / problem.image.x,
                                           (first + i) % problem.image.x};
                           throw BadData(message(
                               "the weight of the pixel at z,y,x = ", to_string(at, ","), " is ",
                               values[i], ": give finite numbers that are not negative"));
                       }
                       most = std::max(most, values[i]);
                   }
                   executor.write_pixel_weights(values, first, count);
               });
    if (most == 0)
        throw BadData("the weights of all pixels are 0: at least one pixel must be compared");
    executor.divide_pixel_weights(most);
}

LoadedImage load(Executor& executor, const DeconvolutionProblem& problem, CallerImages& images,
                 const DeconvolveRun& run_options, const TimelineRow& row) {
    LoadedImage loaded = images.load(executor, problem, row);
    // Views bring weights of their own.
    if (run_options.pixel_weights.data != nullptr)
        load_pixel_weights(executor, problem, run_options.pixel_weights);
    if (problem.traits.counts_photons) loaded.background = std::max(loaded.background, 0.0);
    if (run_options.start.data != nullptr) {
        check_estimate(run_options.start, executor.threads());
        // Around the caller's estimate there is as much light. The mean of the image would be
        // another start for each block of a larger image.
        const auto outside =
            static_cast<float>(mean_of_estimate(run_options.start, executor.threads()));
        loaded.load_start = [&, outside](float) {
            load_start(run_options.start, problem.object, problem.image_at, outside,
                       executor.staging(), [&](const float* values, index_t first, index_t count) {
                           executor.write_estimate(values, first, count);
                       });
        };
    }
    return loaded;
}

}  // namespace

void report_levels(const LoadedImage& loaded, DeconvolveReport& report) {
    report.background = loaded.background;
    report.darkest = loaded.darkest;
    report.background_error = loaded.background_error;
    report.is_under_haze = loaded.is_under_haze;
    report.light = loaded.mean - loaded.background;
    report.photons = loaded.noise;
    report.has_gain = loaded.has_gain;
    report.is_filtered = loaded.is_filtered;
    report.offset_error = loaded.offset_error;
    report.negative_pixels = loaded.negative_pixels;
    report.saturated_pixels = loaded.saturated_pixels - loaded.missing_pixels;
    report.missing_pixels = loaded.missing_pixels;
}

DeconvolveReport run(Executor& executor, const DeconvolutionProblem& problem, CallerImages& images,
                     const ExecutionContext& context, const DeconvolveRun& run_options,
                     int engine) {
    const auto begin = std::chrono::steady_clock::now();
    const TimelineRow row{context.timeline, engine};
    const LoadedImage loaded = load(executor, problem, images, run_options, row);
    IterationProgress progress(
        context, run_options, *problem.options.iterations,
        [&](const ImageView& target) { store_estimate(executor, problem, target); });
    // Work of iterations, and work besides them if iterations record only their own.
    const TimelineRow of_iterations = executor.records_phases() ? TimelineRow{} : row;
    const TimelineRow besides = executor.records_phases() ? row : TimelineRow{};
    StartPreparation preparation(executor, images, context, run_options, besides);
    preparation.set_photons(loaded.photons);
    IterationOutcome outcome;
    {
        const PhaseTimer timer = of_iterations.time_work();
        const int most = *problem.options.iterations;
        // Pixels that share their noise have no photons that predict others.
        const bool searches = images.search() != nullptr || problem.options.hold_out;
        if (loaded.is_filtered && searches && !problem.traits.stops_by_residual)
            outcome = iterate_filtered(executor, problem, loaded, preparation, progress);
        else if (images.search() != nullptr && !loaded.is_filtered)
            outcome = iterate_searched(executor, problem, loaded, images, preparation, progress,
                                       {context, run_options, besides});
        else if (problem.options.hold_out)
            outcome = iterate_held_out(executor, problem, loaded, preparation, progress);
        else
            outcome =
                iterate(executor, problem, preparation.prepare(loaded, 0, progress, 0, 1, most), 0,
                        progress, most);
    }
    DeconvolveReport& report = outcome.report;
    const index_t compared = problem.pixels() - loaded.missing_pixels;
    if (loaded.has_gain && has_likelihood(problem.options.method) && compared > 0 &&
        !problem.options.has_pixel_weights)
        report.misfit =
            -2 * loaded.noise.gain * report.last.likelihood / static_cast<double>(compared);
    report.coarse_iterations = preparation.iterations();
    report_levels(loaded, report);
    report.tv_weight = tv_weight_of(problem, loaded);
    report.executed = images.store(executor, problem, row);
    report.executed.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace convolume::deconvolve
