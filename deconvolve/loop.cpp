// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "deconvolve/coarse_start.hpp"
#include "deconvolve/photons.hpp"

namespace convolume::deconvolve {

namespace {

// A misfit that grew by less has not grown: float32 transforms are not more exact.
constexpr double rounding = 1e-6;

// Where steps start from.
class Extrapolation {
  public:
    /// Of objects of so many voxels; `start` is what they begin with.
    Extrapolation(Momentum momentum, index_t voxels, float start)
        : momentum_(momentum),
          voxels_(voxels),
          // Nothing is known of the first changes: few voxels may get all the light.
          format_(ShortFormat::of_mean(voxels, start)) {}

    /// `before`: the last objective.
    Origin origin(int iteration, double before) {
        if (momentum_ == Momentum::heavy_ball)  // Wang and Miller, eq. 10
            factor_ = static_cast<float>(iteration - 1) / static_cast<float>(iteration + 2);
        Origin origin;
        origin.iteration = iteration;
        origin.restart = restarts_;
        origin.last_format = last_format_;
        origin.format = format_;
        // Biggs and Andrews' point ahead is given up where it is worse; a heavy ball goes on.
        origin.ahead = {factor_, momentum_ == Momentum::heavy_ball ? 0.1F : 0};
        if (momentum_ == Momentum::biggs_andrews && factor_ > 0)
            origin.most = before * (1 + rounding);
        return origin;
    }
    /// The estimate before is forgotten.
    void restart() {
        factor_ = 0;
        restarts_ = true;
    }
    void took(const SumPair& products) {
        restarts_ = false;
        if (momentum_ != Momentum::biggs_andrews) return;
        // The next change is about as large as the last one that is known.
        last_format_ = format_;
        if (products.second > 0)
            format_ = ShortFormat(
                voxels_,
                static_cast<float>(std::sqrt(products.second / static_cast<double>(voxels_))));
        // Biggs and Andrews, eq. 10.
        const double factor = products.second > 0 ? products.first / products.second : 0;
        factor_ = static_cast<float>(std::clamp(factor, 0.0, 1.0));
    }

  private:
    Momentum momentum_;
    index_t voxels_;
    ShortFormat last_format_, format_;
    float factor_ = 0;
    bool restarts_ = true;
};

}  // namespace

Outcome iterate(Steps& steps, const Problem& problem, const LoadedImage& image, float held_share,
                IterationProgress& progress, int iterations) {
    const DeconvolveOptions& options = problem.options;
    const double pixels = static_cast<double>(element_count(problem.image));
    const int unmatched = unmatched_steps(problem);
    Outcome outcome;
    DeconvolveReport& report = outcome.report;
    Extrapolation extrapolation(momentum_of(options), element_count(problem.object),
                                start_of(image));
    double before = 0;
    int disputed = 0;  // steps in a row without consensus
    double least_held = std::numeric_limits<double>::infinity();
    // Whether what was found of the iteration k ends them.
    const auto ends = [&](int k, const Taken& taken) {
        if (!std::isfinite(taken.objective()))
            throw BadData("the estimate overflowed float32: scale the image to smaller numbers");
        report.iterations = k;
        report.last = {k, iterations,     -taken.misfit,
                       0, held_share > 0, std::sqrt(taken.held_out / pixels)};
        if (problem.seeks_consensus()) report.last.consenting = taken.consenting;
        progress.finished(report.last);
        if (held_share > 0) {
            if (taken.held_out < (1 - least_gain) * least_held) {
                least_held = taken.held_out;
                outcome.best = k - 1;
            }
            if (k - 1 - outcome.best >= patience) return true;
        }
        disputed = taken.consenting < options.consensus ? disputed + 1 : 0;
        if (problem.seeks_consensus() && disputed == long_dispute) return true;
        const double gain = before - taken.objective();
        if (options.stop && k > unmatched + 1 && gain < *options.stop * before) return true;
        before = taken.objective();
        return false;
    };

    const bool may_end = held_share > 0 || options.stop;
    const bool needs_misfit = may_end || progress.reports() || problem.seeks_consensus() ||
                              momentum_of(options) == Momentum::biggs_andrews;
    const auto origin_of = [&](int k) {
        Origin origin = extrapolation.origin(k, before);
        origin.without_misfit = !needs_misfit && k < iterations;
        return origin;
    };
    steps.begin(image, held_share);
    for (int k = 1; k <= iterations;) {
        const int together =
            std::min({iterations - k + 1, may_end ? 1 : steps.most_together(), progress.unread(k)});
        if (together > 1) {
            std::vector<Origin> origins;
            for (int i = 0; i < together; ++i) {
                origins.push_back(extrapolation.origin(k + i, before));
                extrapolation.took({});
            }
            for (const Taken& taken : steps.take_together(origins, progress)) ends(k++, taken);
            continue;
        }
        Taken taken = steps.take(origin_of(k), progress);
        if (taken.refused) {
            extrapolation.restart();
            ++report.restarts;
            taken = steps.take(origin_of(k), progress);
        }
        extrapolation.took(taken.products);
        if (ends(k++, taken)) break;
    }
    return outcome;
}

namespace {

// One photon in 2³ is held out.
constexpr int held_out_halvings = 3;

// Begins iterations on coarser images where there are some, within their part of the progress.
class Beginning {
  public:
    Beginning(Steps& steps, const Images& images, const ExecutionContext& context,
              const DeconvolveRun& along)
        : steps_(steps), context_(context) {
        if (along.start.data == nullptr) coarse_ = images.coarse();
    }

    /// `iterations` follow, which are this part of the whole with what comes before them. `image`
    /// loses the photons that are held out already.
    LoadedImage prepare(const LoadedImage& image, int halvings, IterationProgress& progress,
                        double from, double to, int iterations) {
        const double share =
            coarse_.start != nullptr ? coarse_.start->share_of_time(iterations) : 0;
        const double fine_from = from + share * (to - from);
        progress.begin(fine_from, to, iterations);
        LoadedImage prepared = image;
        if (coarse_.start == nullptr) return prepared;
        prepared.start_scale = 1;  // it is of what is left of the photons
        prepared.load_start = [=, this, background = image.background,
                               held = Held{photons_, halvings}](float level) {
            ExecutionContext own;
            own.stop = context_.stop;
            if (context_.progress)
                own.progress = [&](double fraction) {
                    context_.progress(from + (fine_from - from) * fraction);
                };
            iterations_ +=
                coarse_.start->begin(coarse_.image, background, held, steps_, level, own);
        };
        return prepared;
    }
    void draw(const PhotonScale& photons) { photons_ = photons; }
    int iterations() const { return iterations_; }

  private:
    Steps& steps_;
    const ExecutionContext& context_;
    CoarseImages coarse_;
    PhotonScale photons_;
    int iterations_ = 0;
};

// Finds the number of iterations with some photons held out, then takes as many with all.
Outcome iterate_held_out(Steps& steps, const Problem& problem, const LoadedImage& image,
                         Beginning& beginning, IterationProgress& progress) {
    constexpr float share = 1.0F / (1 << held_out_halvings);
    steps.hold_out(image.photons, held_out_halvings);
    beginning.draw(image.photons);
    const int most = problem.options.iterations;
    const LoadedImage rest = beginning.prepare(without_held_out(image, share), held_out_halvings,
                                               progress, 0, 0.5, most);
    const Outcome search = iterate(steps, problem, rest, share / (1 - share), progress, most);
    steps.put_back();
    const int best = std::max(1, search.best);
    const LoadedImage all = beginning.prepare(image, 0, progress, 0.5, 1, best);
    Outcome outcome = iterate(steps, problem, all, 0, progress, best);
    outcome.report.searched = search.report.iterations;
    return outcome;
}

LoadedImage load(Steps& steps, const Problem& problem, const Images& images,
                 const DeconvolveRun& along) {
    const bool poisson = problem.options.method != DeconvolveMethod::wiener;
    LoadedImage loaded = images.load(steps, poisson, problem.options.saturation);
    loaded.background =
        problem.options.background ? *problem.options.background : images.background();
    if (poisson) loaded.background = std::max(loaded.background, 0.0);
    if (along.start.data != nullptr) {
        check_estimate(along.start, steps.threads());
        loaded.load_start = [&](float outside) {
            load_start(along.start, problem.object, problem.image_at, outside, steps.staging(),
                       [&](const float* values, index_t first, index_t count) {
                           steps.write_estimate(values, first, count);
                       });
        };
    }
    if (problem.draws_photons()) {
        if (problem.options.photons)
            loaded.photons = *problem.options.photons;
        else if (const auto seen = images.photon_scale(steps.threads()))
            loaded.photons = *seen;
    }
    return loaded;
}

// `target` has the extents of the image or of the object.
ExecutionReport store_estimate(const Steps& steps, const Problem& problem,
                               const ImageView& target) {
    if (target.shape != problem.object && target.shape != problem.image)
        throw InvalidArgument(message("an estimate is read in the image's shape ",
                                      to_string(problem.image), " or the object's ",
                                      to_string(problem.object), ", not in ",
                                      to_string(target.shape), " (z×y×x)"));
    const Index3 at = target.shape == problem.object ? Index3{} : problem.image_at;
    ExecutionReport clamped;
    store_result(target, problem.object, at, steps.staging(), steps.threads(), clamped,
                 [&](float* values, index_t first, index_t count) {
                     steps.read_estimate(values, first, count);
                 });
    return clamped;
}

}  // namespace

LoadedImage HostImages::load(Steps& steps, bool clip, std::optional<double> saturation) const {
    check_image(image_, steps.threads());
    return load_image(image_, clip, saturation, steps.staging(), steps.threads(),
                      [&](const float* values, index_t first, index_t count) {
                          steps.write_image(values, first, count);
                      });
}

double HostImages::background() const {
    return estimate_background(image_);
}

std::optional<PhotonScale> HostImages::photon_scale(int threads) const {
    return estimate_photon_scale(image_, threads);
}

ExecutionReport HostImages::store(const Steps& steps, const Problem& problem) const {
    return store_estimate(steps, problem, result_);
}

DeconvolveReport run(Steps& steps, const Problem& problem, const Images& images,
                     const ExecutionContext& context, const DeconvolveRun& along) {
    const auto begin = std::chrono::steady_clock::now();
    const LoadedImage loaded = load(steps, problem, images, along);
    IterationProgress progress(
        context, along, problem.options.iterations,
        [&](const ImageView& target) { store_estimate(steps, problem, target); });
    Beginning beginning(steps, images, context, along);
    Outcome outcome;
    if (problem.options.method == DeconvolveMethod::wiener)
        outcome = steps.solve_wiener(loaded, progress);
    else if (problem.options.hold_out)
        outcome = iterate_held_out(steps, problem, loaded, beginning, progress);
    else
        outcome = iterate(steps, problem,
                          beginning.prepare(loaded, 0, progress, 0, 1, problem.options.iterations),
                          0, progress, problem.options.iterations);
    DeconvolveReport& report = outcome.report;
    report.coarse_iterations = beginning.iterations();
    report.background = loaded.background;
    report.photons = loaded.photons;
    report.negative_pixels = loaded.negative_pixels;
    report.saturated_pixels = loaded.saturated_pixels;
    report.executed = images.store(steps, problem);
    report.executed.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace convolume::deconvolve
