// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/held_out_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "deconvolve/caller_images.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/estimates/roughness_search.hpp"

namespace convolume::deconvolve {

namespace {

// Returns the extents of a part, with all planes.
Shape3 part_of(const Shape3& image) {
    const auto pixels = static_cast<double>(element_count(image));
    const double share =
        std::clamp(search::share_of_image, std::sqrt(static_cast<double>(common::enough) / pixels),
                   std::sqrt(search::most_part_pixels / pixels));
    const auto shortened = [&](index_t extent) {
        const auto wanted = static_cast<index_t>(std::ceil(share * static_cast<double>(extent)));
        return std::min(extent, std::max(search::least_part_extent, wanted));
    };
    return {image.z, shortened(image.y), shortened(image.x)};
}

// Returns the middle of the PSF, as far along y and x as half of a part's extents: what is beyond
// would mostly be an object outside the part. `center` becomes that of the result.
ConstImageView middle_of(const ConstImageView& psf, const Shape3& part, KernelCenter& center) {
    if (center.kind == KernelCenter::Kind::corner) return psf;
    Index3 at = center_index(center, psf);
    Box3 box{{}, {psf.shape.z, psf.shape.y, psf.shape.x}};
    for (int axis = 1; axis < 3; ++axis) {
        const index_t reach = ceil_div(part[axis], 2);
        box.begin[axis] = std::max<index_t>(0, at[axis] - reach);
        box.end[axis] = std::min(psf.shape[axis], at[axis] + reach + 1);
        at[axis] -= box.begin[axis];
    }
    center = {KernelCenter::Kind::explicit_, at};
    return subview(psf, box);
}

// Ends the iterations on the second half, out of the callback.
struct SearchEnded {};

}  // namespace

PhotonHalves divide_photons(const ConstImageView& image, const PhotonScale& photons,
                            const PixelBounds& bounds, int threads) {
    PhotonHalves divided;
    for (Volume& half : divided.halves) half = Volume(image.shape, PixelType::float32);
    // Twice the value of a half: gain and offset follow from gain (value / 2 - offset / 2).
    divided.photons = {photons.gain / 2, photons.offset};
    const auto gain = static_cast<float>(photons.gain);
    const auto offset = static_cast<float>(photons.offset);
    const pixels::RowGather gather(identity_indices(image.shape.x));
    parallel_for(image.shape.z * image.shape.y, threads, [&](index_t row, int) {
        const index_t first = row * image.shape.x;
        float* const a = divided.halves[0].elements<float>() + first;
        float* const b = divided.halves[1].elements<float>() + first;
        pixels::load_row(image, row / image.shape.y, row % image.shape.y, gather, {}, b);
        for (index_t x = 0; x < image.shape.x; ++x) {
            const float value = std::max(b[x], 0.0F);
            if (bounds.apply_to(value)) {
                a[x] = b[x] = bounds.in_halves(value);
                continue;
            }
            PixelRandomBits bits(1, ThinningPurpose::hold_out, first + x);
            const PixelHalves halves = divide_pixel(value, gain, offset, bits);
            a[x] = halves.first;
            b[x] = halves.second;
        }
    });
    return divided;
}

HeldOutSearch::HeldOutSearch(const DeconvolutionProblem& whole, DeconvolutionProblem&& problem,
                             int threads)
    : whole_object_(whole.object),
      problem_(std::move(problem)),
      threads_(threads),
      iterations_(*whole.options.iterations),
      bounds_(whole.bounds()),
      is_plane_(whole.image.z == 1),
      from_half_to_all_(is_plane_
                            ? 1
                            : search::from_half_to_all +
                                  search::more_with_haze * share_of_haze(whole, regions::reach)),
      brightest_(whole.image, problem_.image, threads) {}

std::unique_ptr<HeldOutSearch> HeldOutSearch::make(const DeconvolutionProblem& whole,
                                                   const ConstImageView& psf,
                                                   const DeconvolveOptions& options, int threads,
                                                   const MakeRunner& make_runner) {
    if (!whole.options.hold_out && !whole.chooses_roughness()) return {};
    const Shape3 part = part_of(whole.image);
    DeconvolveOptions of_part = options;
    of_part.hold_out = false;
    of_part.has_pixel_weights = false;  // all pixels tell how many iterations the noise bears
    // Few iterations on the image do not make the weight of a roughness another one.
    of_part.iterations = whole.traits.penalizes_roughness() ? whole.traits.usual_iterations
                                                            : *whole.options.iterations;
    of_part.splits = 0;
    of_part.coarse_start = whole.options.coarse_start;
    of_part.image_type.reset();                         // halves are float32
    if (part != whole.image) of_part.boundary.reset();  // the object goes on beyond a part
    if (options.saturation) of_part.saturation = encoded_bounds().level;
    const ConstImageView middle = part == whole.image ? psf : middle_of(psf, part, of_part.center);
    of_part.streamed = false;
    of_part.max_host_bytes = whole.options.max_host_bytes;
    std::unique_ptr<HeldOutSearch> search(
        new HeldOutSearch(whole, resolve_problem(part, middle, of_part, threads), threads));
    search->problem_.reserved_host_bytes = whole.reserved_host_bytes;
    search->coarse_ = CoarseStart::make(search->problem_, make_runner, threads);
    search->runner_ = make_runner(search->problem_);
    search->problem_.psf = {};  // the convolvers hold the PSF's samples
    search->problem_.unmatched = {};
    return search;
}

index_t HeldOutSearch::host_bytes() const {
    // The reference and the estimate: the plan counts two images, which are the halves.
    index_t images = 2 * bytes_of(problem_.object, PixelType::float32);
    for (CoarseStart* start = coarse_.get(); start != nullptr; start = start->level().start)
        images += 2 * bytes_of(start->level().problem.object, PixelType::float32);
    return checked_add(checked_add(runner_->plan().host_bytes, images),
                       coarse_ ? coarse_->host_bytes() : 0);
}

index_t HeldOutSearch::device_bytes() const {
    return runner_->plan().device_bytes + (coarse_ ? coarse_->device_bytes() : 0);
}

double HeldOutSearch::share_of_time() const {
    const double part = search::first_reference / numbers::usual_iterations *
                        static_cast<double>(element_count(problem_.object));
    return part / (part + static_cast<double>(element_count(whole_object_)));
}

struct HeldOutSearch::Stage {
    int best = 1;            ///< number of iterations after which the halves were nearest
    int searched = 0;        ///< number of iterations done
    double misfit = 0;       ///< deviance of the reference for each pixel, less 1
    double half_misfit = 0;  ///< the same after half of the iterations
    double most_judged = 0;  ///< largest number of iterations that the reference decides

    bool is_judged() const { return best <= most_judged; }
    bool fits() const {
        return misfit <= std::max(search::most_misfit, search::most_lasting * half_misfit);
    }
};

struct HeldOutSearch::Nearest {
    int iterations = 1;  ///< number of iterations on a half
    int searched = 0;    ///< number of iterations of all stages
    bool grows = true;   ///< whether all photons bear more iterations than a half
};

/// Numbers of iterations of one reference after another.
class HeldOutSearch::References {
  public:
    /// `coarser` is the number that is nearest on the coarser image, or 0 if it is not known.
    References(bool is_plane, int coarser, int limit)
        : wanted_(is_plane ? search::first_reference_of_plane : search::first_reference),
          limit_(limit) {
        if (coarser > 0)
            wanted_ = std::clamp(search::reference_after_coarser * coarser,
                                 std::min<double>(numbers::usual_iterations, wanted_), wanted_);
    }

    /// Returns the number of the next reference: the limit if it is less than a step away.
    int next() {
        const double number = wanted_;
        wanted_ *= search::next_reference;
        return limit_ < wanted_ ? limit_ : static_cast<int>(number);
    }
    int limit() const { return limit_; }

  private:
    double wanted_;
    int limit_;
};

HeldOutSearch::Stage HeldOutSearch::compare_halves(const RestoredLevel& level,
                                                   const std::array<Volume, 2>& halves, int most,
                                                   bool is_last, const DeconvolveRun& run,
                                                   const ExecutionContext& context) {
    DeconvolutionProblem& problem = level.problem;
    problem.options.iterations = most;
    Volume reference = level.make_estimate(), estimate = level.make_estimate();
    const auto execute = [&](int half, const ImageView& result, const DeconvolveRun& own,
                             double from, double to) {
        HostImages images(halves[static_cast<std::size_t>(half)].view(), result,
                          {level.start, nullptr});
        return level.runner.execute(problem, images, progress_between(context, from, to), own);
    };
    Stage stage;
    const auto report = [&](Iteration iteration, double distance) {
        ++stage.searched;
        iteration.searching = true;
        iteration.held_out = distance;
        if (run.on_iteration) run.on_iteration(iteration, {});
    };
    DeconvolveRun own;
    own.start = run.start;
    own.reads_every = 0;
    const auto pixels = static_cast<double>(element_count(problem.image));
    own.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        stage.misfit = -2 * *problem.options.gain * iteration.likelihood / pixels - 1;
        if (2 * iteration.number <= most) stage.half_misfit = stage.misfit;
        report(iteration, 0);
    };
    execute(0, reference.view(), own, 0, 0.5);
    // A larger number needs a longer reference, so that this comparison can end.
    stage.most_judged = is_last || !stage.fits() ? most : search::judged_share * most;
    double least = std::numeric_limits<double>::infinity();
    own.reads_every = 1;
    own.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        read(estimate.view());
        const double distance = level.squared_distance(estimate, reference, threads_);
        if (distance < least) {
            least = distance;
            stage.best = iteration.number;
        }
        report(iteration, std::sqrt(distance / pixels));
        const int without_gain =
            std::max(search::least_patience, static_cast<int>(search::patience_share * stage.best));
        if (iteration.number - stage.best >= without_gain || !stage.is_judged())
            throw SearchEnded();
    };
    try {
        execute(1, {}, own, 0.5, 1);
    } catch (const SearchEnded&) {
    }
    return stage;
}

HeldOutSearch::Nearest HeldOutSearch::find_nearest(const RestoredLevel& level,
                                                   const std::array<Volume, 2>& halves,
                                                   References references, const DeconvolveRun& run,
                                                   const ExecutionContext& context) {
    Nearest nearest;
    double done = 0;
    for (;;) {
        const int most = references.next();
        const bool is_last = most == references.limit();
        const Stage stage = compare_halves(level, halves, most, is_last, run,
                                           progress_between(context, done, (1 + done) / 2));
        done = (1 + done) / 2;
        nearest.searched += stage.searched;
        nearest.iterations = stage.best;
        if (stage.best > search::judged_share * most) nearest.grows = stage.fits();
        if (stage.is_judged()) return nearest;
    }
}

int HeldOutSearch::of_all(const Nearest& nearest, int limit) const {
    const double factor = nearest.grows ? from_half_to_all_ : 1;
    return std::min(limit, static_cast<int>(std::lround(factor * nearest.iterations)));
}

std::vector<int> HeldOutSearch::search_coarsely(CoarseStart& start,
                                                const std::array<Volume, 2>& halves,
                                                const ImageLevels& levels, double gain,
                                                const ExecutionContext& context) {
    const RestoredLevel level = start.level();
    std::array<Volume, 2> sums;
    for (std::size_t half = 0; half < 2; ++half) {
        sums[half] = Volume(level.problem.image, PixelType::float32);
        if (start.sum(halves[half].view(), {}, sums[half].view()) == 0) return {};
    }
    const ImageLevels of_sums = start.set_levels(levels, gain);
    std::vector<int> numbers;
    if (level.start != nullptr)
        numbers = search_coarsely(*level.start, sums, of_sums, gain, context);
    ExecutionContext own;
    own.stop = context.stop;
    const int limit = *problem_.options.coarse_start;
    const int coarser = numbers.empty() ? 0 : *level.start->level().problem.options.iterations;
    const Nearest nearest = find_nearest(level, sums, {is_plane_, coarser, limit}, {}, own);
    level.problem.options.iterations = nearest.iterations;
    numbers.insert(numbers.begin(), of_all(nearest, limit));
    return numbers;
}

HeldOutSearch::Found HeldOutSearch::find(const ConstImageView& part, const LoadedImage& image,
                                         const DeconvolveRun& run,
                                         const ExecutionContext& context) {
    const PhotonHalves divided = divide_photons(part, image.photons, bounds_, threads_);
    const PhotonScale& photons = divided.photons;
    Found found;
    if (coarse_ && run.start.data == nullptr)
        found.coarse = search_coarsely(*coarse_, divided.halves, {image.background, photons.offset},
                                       photons.gain, context);
    problem_.options.background = image.background;
    set_photons(problem_.options, photons);
    if (problem_.traits.penalizes_roughness()) {
        const double bright = photons.gain * image.bright_level;
        found.iterations = iterations_;
        if (!(bright > 0)) return found;
        const FoundRoughness weight =
            find_roughness({problem_, *runner_, coarse_.get()}, divided.halves,
                           weights::first_over_photons / bright, threads_, run, context);
        // All photons have half the relative variance of a half.
        found.roughness = weight.weight / 2;
        found.searched = weight.searched;
        return found;
    }
    const int coarser = found.coarse.empty() ? 0 : *coarse_->level().problem.options.iterations;
    const Nearest nearest = find_nearest({problem_, *runner_, coarse_.get()}, divided.halves,
                                         {is_plane_, coarser, iterations_}, run, context);
    found.searched = nearest.searched;
    found.iterations = of_all(nearest, iterations_);
    return found;
}

}  // namespace convolume::deconvolve
