// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/run.hpp"

#include <algorithm>
#include <chrono>

#include "convolume/error.hpp"
#include "deconvolve/coarse_start.hpp"
#include "deconvolve/photon_scale.hpp"
#include "deconvolve/richardson_lucy.hpp"

namespace convolume::deconvolve {

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
