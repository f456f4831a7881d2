// SPDX-License-Identifier: Apache-2.0
#include "convolume/view_deconvolver.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/loop.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/sufficient_limit.hpp"
#include "deconvolve/uncertainty.hpp"
#include "deconvolve/views/back_projectors.hpp"
#include "deconvolve/views/view_arrays.hpp"
#include "deconvolve/views/view_halves.hpp"
#include "deconvolve/views/view_images.hpp"
#include "forward/planned_view.hpp"

namespace convolume {

namespace deconvolve {

// Views whose arrays are in host memory.
class HostViews : public HostLoops {
  public:
    /// The model is kept by reference. Images have at most `pixels` pixels.
    HostViews(const DeconvolutionProblem& problem, const ForwardModel& model, index_t pixels,
              int threads)
        : HostLoops(problem, threads), model_(model), pixels_(pixels) {}

    index_t voxels() const { return element_count(model_.object().shape); }
    void record(std::size_t view, const float* object, float* image) const {
        model_.record(view, view_of(object, model_.object().shape),
                      view_of(image, model_.image(view)), context());
    }
    void finish_images() const {}
    void add_back(std::size_t view, const float* image, float factor, float* object) {
        if (factor != 1) {
            scaled_.resize(static_cast<std::size_t>(pixels_));
            for_each(element_count(model_.image(view)),
                     ScaledPixels{image, scaled_.data(), {factor, 0}});
            image = scaled_.data();
        }
        model_.add_back(view, view_of(image, model_.image(view)),
                        view_of(object, model_.object().shape), context());
    }
    void finish_object(const float*) const {}

  private:
    const ForwardModel& model_;
    index_t pixels_;
    std::vector<float> scaled_;  ///< made when a view needs it
};

}  // namespace deconvolve

namespace {

using deconvolve::DeconvolutionProblem;
using deconvolve::HostViews;
using deconvolve::ViewProblem;

// Returns the options of all views together.
DeconvolveOptions common_options(const DeconvolveOptions& options) {
    deconvolve::check_unused(options);
    if (!deconvolves_views(options.method))
        throw InvalidArgument(message("several views are not deconvolved by ",
                                      to_string(options.method), ": choose rl, rl-tv, shb or map"));
    if (options.has_varying_background)
        throw InvalidArgument(
            "a background that varies is found in one view alone: give each view a number, or "
            "leave it open");
    if (options.coarse_start.value_or(0) > 0)
        throw InvalidArgument("a coarse start is made of one view alone: leave it out");
    DeconvolveOptions common = options;
    common.coarse_start = 0;
    if (options.view_updates != ViewUpdates::simultaneous) common.acceleration = Acceleration::none;
    common.streamed = false;
    common.image_type.reset();
    return common;
}

// Returns the problem of one view, whose levels are found as those of a single image.
ViewProblem problem_of(const View& view, const DeconvolveOptions& common, const ViewLevels& levels,
                       int threads) {
    ViewProblem one;
    DeconvolveOptions options = common;
    options.has_pixel_weights = false;
    options.center = view.psfs.front().center;
    if (levels.background) options.background = levels.background;
    if (levels.offset) options.offset = levels.offset;
    if (levels.gain) options.gain = levels.gain;
    one.problem = deconvolve::resolve_problem(view.image, view.psfs.front().psf, options, threads);
    // Iterations on all views divide their photons.
    one.problem.searches_in_part = one.problem.options.hold_out;
    one.problem.options.hold_out = false;
    if (!one.problem.has_light) throw BadData("a PSF of a view has no light: give one that has");
    one.view = view;
    one.view.psfs.clear();
    one.light = levels.light;
    one.border = levels.border;
    one.full_weight = levels.full_weight;
    if (!(levels.light > 0) || !std::isfinite(levels.light))
        throw InvalidArgument(message("the light of a view is ", levels.light,
                                      " times that of the others: give a number above 0"));
    if (!(levels.full_weight >= 0) || !std::isfinite(levels.full_weight))
        throw InvalidArgument(message("the full weight of a view is ", levels.full_weight,
                                      ": give a number above 0, or 0 for the largest weight"));
    border_factors(1, levels.border);  // refuses wrong borders
    if (view.mask.data == nullptr) return one;
    one.mask = Volume(view.image, PixelType::float32);
    convert_pixels(view.mask, one.mask.view(), threads);
    one.view.mask = {};
    const float* const values = one.mask.elements<float>();
    if (!std::all_of(values, values + element_count(view.image),
                     [](float weight) { return weight >= 0 && std::isfinite(weight); }))
        throw BadData(
            "a mask of a view has weights that are negative or not finite: give numbers "
            "from 0");
    return one;
}

}  // namespace

bool deconvolves_views(DeconvolveMethod method) {
    return uses_option(method, "weights") && !uses_option(method, "unmatched");
}

struct ViewDeconvolver::Impl {
    DeconvolutionProblem problem;
    std::vector<ViewProblem> views;
    std::optional<deconvolve::ViewScales> scales;
    ObjectGrid object;
    DeconvolvePlan plan;
    int threads = 1;
    /// Iterations on a GPU or by passes; null: over arrays in host memory, with the model below.
    std::unique_ptr<deconvolve::Runner> runner;
    std::optional<ForwardModel> model;
    std::optional<deconvolve::ViewArrays<HostViews>> arrays;
    std::mutex execution_mutex;

    void resolve(const Shape3& result, const std::vector<View>& given,
                 const DeconvolveOptions& common, const std::vector<ViewLevels>& levels);
    void make_model(std::vector<View> given, const EngineChoice& engines);
    void add_back_projectors(std::vector<View>& given, std::vector<Volume>& taps);
    bool place_on_gpu(const std::vector<View>& given, const EngineChoice& engines);
    bool place_by_passes(const std::vector<View>& given, const EngineChoice& engines);
    void place_on_host(const std::vector<View>& given, const EngineChoice& engines);
    DeconvolveReport iterate(deconvolve::ViewImages& images, const DeconvolveRun& run,
                             const ExecutionContext& context);
    std::vector<DeconvolveReport> deconvolve_whole(const std::vector<ConstImageView>& images,
                                                   const ImageView& result,
                                                   const DeconvolveRun& run,
                                                   const ExecutionContext& context);
    std::vector<DeconvolveReport> execute_with_splits(const std::vector<ConstImageView>& images,
                                                      const ImageView& result,
                                                      const DeconvolveRun& run,
                                                      const ExecutionContext& context);
};

// Makes the problem of all views, with the object of the model, and that of each view.
void ViewDeconvolver::Impl::resolve(const Shape3& result, const std::vector<View>& given,
                                    const DeconvolveOptions& common,
                                    const std::vector<ViewLevels>& levels) {
    index_t pixels = 0;
    double squared_taps = 0;
    for (std::size_t v = 0; v < given.size(); ++v) {
        views.push_back(
            problem_of(given[v], common, levels.empty() ? ViewLevels{} : levels[v], threads));
        pixels = checked_add(pixels, element_count(given[v].image));
        squared_taps += deconvolve::squared_taps_of(views[v].problem.psf);
    }
    problem.options = resolved(common, result.z);
    problem.options.has_pixel_weights = !deconvolve::weighs_all_alike(views, result);
    problem.traits = deconvolve::traits_of(common);
    problem.image = result;
    problem.recorded_pixels = pixels;
    if (common.view_updates != ViewUpdates::simultaneous)
        problem.parts = static_cast<int>(given.size());
    problem.psf_sum = views[0].problem.psf_sum;
    problem.has_light = true;
    // The mean of the views' corrections has less noise than one of them.
    const auto count = static_cast<double>(given.size());
    problem.squared_taps = squared_taps / (count * count);
}

void ViewDeconvolver::Impl::make_model(std::vector<View> given, const EngineChoice& engines) {
    // Copies of the PSFs without negative samples, until the model has their transforms.
    std::vector<Volume> taps;
    DeconvolveOptions of_psf = problem.options;
    of_psf.has_pixel_weights = false;
    for (View& view : given) {
        view.boundary = problem.options.boundary;
        view.mask = {};
        for (FieldPsf& one : view.psfs) {
            of_psf.center = one.center;
            DeconvolutionProblem resolved =
                deconvolve::resolve_problem(view.image, one.psf, of_psf, threads);
            problem.negative_psf_samples += resolved.negative_psf_samples;
            one.center = resolved.options.center;
            one.psf = taps.emplace_back(std::move(resolved.psf)).view();
        }
    }
    object = object_grid(problem.image, given);
    if (problem.options.view_updates == ViewUpdates::efficient && given.size() > 1)
        add_back_projectors(given, taps);
    problem.object = object.shape;
    problem.image_at = object.result_at;
    // The caller's images and result, and copies of masks.
    index_t images = checked_add(problem.pixels(), element_count(problem.image));
    for (const ViewProblem& one : views)
        images = checked_add(images, element_count(one.mask.shape()));
    plan.host_bytes = checked_multiply(images, static_cast<index_t>(sizeof(float)));
    if (problem.options.splits > 0)
        plan.host_bytes =
            checked_add(plan.host_bytes, deconvolve::uncertainty_bytes(problem, views));
    if (!place_on_gpu(given, engines) && !place_by_passes(given, engines))
        place_on_host(given, engines);
    plan.views = static_cast<int>(views.size());
    plan.splits = problem.options.splits;
    for (ViewProblem& one : views) {
        try {
            one.problem.dark_level = deconvolve::DarkLevel::make(one.problem, threads);
        } catch (const OutOfMemory&) {
            one.problem.dark_level.reset();
        }
        one.problem.release_taps();
    }
}

// Adds a view behind the given ones for each, whose adjoint projects it back in efficient updates.
void ViewDeconvolver::Impl::add_back_projectors(std::vector<View>& given,
                                                std::vector<Volume>& taps) {
    for (const View& view : given)
        if (view.psfs.size() > 1)
            throw InvalidArgument(
                "efficient updates need one PSF for each view, and a view has several: choose "
                "sequential or simultaneous updates");
    const std::vector<View> forward = given;
    for (std::size_t v = 0; v < forward.size(); ++v) {
        View& back = given.emplace_back(forward[v]);
        back.psfs.front().psf =
            taps.emplace_back(deconvolve::back_projector(forward, v, threads)).view();
    }
    scales->add_back_projectors();
}

// Returns false if there is no GPU that can be used, or if its memory does not hold the arrays.
bool ViewDeconvolver::Impl::place_on_gpu(const std::vector<View>& given,
                                         const EngineChoice& engines) {
    const deconvolve::DeviceDeconvolution* const device = deconvolve::device_deconvolution();
    if (device == nullptr || engines.device == EngineChoice::Device::cpu ||
        !gpu_unavailable().empty())
        return false;
    try {
        runner = device->views(problem, *device->choose(engines, nullptr), object, given, *scales);
    } catch (const OutOfMemory& error) {
        plan.why_not_on_device = error.what();
        return false;
    }
    const index_t images = plan.host_bytes;
    plan = runner->plan();
    plan.host_bytes = images;
    return true;
}

// Returns false if passes on the CPU cannot carry out the iterations of all views together, do not
// fit in memory, or take longer.
bool ViewDeconvolver::Impl::place_by_passes(const std::vector<View>& given,
                                            const EngineChoice& engines) {
    if (!deconvolve::steps_by_voxel(problem) || problem.parts > 1) return false;
    std::vector<deconvolve::RecordedView> recorded;
    for (std::size_t v = 0; v < given.size(); ++v) {
        if (given[v].psfs.size() > 1) return false;
        recorded.push_back({views[v].problem, forward::PlannedView(given[v], object, v).sampling});
    }
    runner =
        deconvolve::make_host_view_runner(problem, recorded, *scales, plan.host_bytes, engines);
    if (!runner) return false;
    const std::string why_not_on_device = plan.why_not_on_device;
    plan = runner->plan();
    plan.why_not_on_device = why_not_on_device;
    return true;
}

void ViewDeconvolver::Impl::place_on_host(const std::vector<View>& given,
                                          const EngineChoice& engines) {
    const index_t scaled = checked_multiply(scales->largest(), static_cast<index_t>(sizeof(float)));
    const index_t own =
        checked_add(deconvolve::array_bytes(problem), checked_add(plan.host_bytes, scaled));
    const index_t limit = host_limit_bytes(problem.options.max_host_bytes);
    if (own >= limit)
        throw OutOfMemory(message("the deconvolution's arrays and images take ", format_bytes(own),
                                  ", but the limit is ", format_bytes(limit)));
    ForwardModelOptions options;
    options.max_host_bytes = limit - own;
    model.emplace(object, given, options, engines);
    plan.object = object.shape;
    plan.grid = model->transforms();
    plan.array_bytes = deconvolve::array_bytes(problem);
    plan.host_bytes = own + model->host_bytes();
    plan.engines = model->engines();
}

DeconvolveReport ViewDeconvolver::Impl::iterate(deconvolve::ViewImages& images,
                                                const DeconvolveRun& run,
                                                const ExecutionContext& context) {
    if (runner) return runner->execute(problem, images, context, run);
    if (!arrays) {
        const PhaseTimer timer(context.timeline, Phase::allocate);
        arrays.emplace(*scales, problem, *model, scales->largest(), threads);
    }
    arrays->use(context);
    deconvolve::ArrayExecutor<deconvolve::ViewArrays<HostViews>> executor(*arrays, problem);
    return deconvolve::run(executor, problem, images, context, run, -1);
}

std::vector<DeconvolveReport> ViewDeconvolver::Impl::deconvolve_whole(
    const std::vector<ConstImageView>& images, const ImageView& result, const DeconvolveRun& run,
    const ExecutionContext& context) {
    std::vector<std::unique_ptr<deconvolve::CallerImages>> of_views;
    for (const ConstImageView& image : images)
        of_views.push_back(std::make_unique<deconvolve::HostImages>(
            image, of_views.empty() ? result : ImageView{}));
    deconvolve::ViewImages all(views, std::move(of_views), *scales);
    const DeconvolveReport together = iterate(all, run, context);
    std::vector<DeconvolveReport> reports;
    for (const deconvolve::LoadedImage& found : all.found()) {
        DeconvolveReport& report = reports.emplace_back(together);
        deconvolve::report_levels(found, report);
        report.misfit.reset();
    }
    return reports;
}

// Also estimates the uncertainty.
std::vector<DeconvolveReport> ViewDeconvolver::Impl::execute_with_splits(
    const std::vector<ConstImageView>& images, const ImageView& result, const DeconvolveRun& run,
    const ExecutionContext& context) {
    const int splits = problem.options.splits;
    const double share = 1.0 / (1 + 2 * splits);
    const auto part = [&](double from, double to) {
        ExecutionContext own = deconvolve::progress_between(context, from, to);
        own.timeline = context.timeline;
        return own;
    };
    const auto begin = std::chrono::steady_clock::now();
    std::vector<DeconvolveReport> reports = deconvolve_whole(images, result, run, part(0, share));
    deconvolve::ViewHalves halves(
        problem, views, *scales, images, reports,
        [this](deconvolve::ViewImages& of_half, const DeconvolveRun& own,
               const ExecutionContext& of_run) { iterate(of_half, own, of_run); },
        threads);
    deconvolve::estimate_uncertainty(halves, splits, run, part(share, 1), threads);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    for (DeconvolveReport& report : reports) report.executed.seconds = seconds.count();
    return reports;
}

ViewDeconvolver::ViewDeconvolver(const Shape3& result, const std::vector<View>& views,
                                 const DeconvolveOptions& options,
                                 const std::vector<ViewLevels>& levels,
                                 const EngineChoice& engines) {
    if (views.empty()) throw InvalidArgument("there is no view: give at least one");
    if (!levels.empty() && levels.size() != views.size())
        throw InvalidArgument(message("there are ", views.size(), " views, but the levels of ",
                                      levels.size(), ": give those of each view, or none"));
    const DeconvolveOptions common = common_options(options);
    static_cast<void>(object_grid(result, views));  // checks the views
    impl_ = deconvolve::make_within_limits(result, common, [&](const DeconvolveOptions& chosen) {
        auto made = std::make_unique<Impl>();
        made->threads = thread_count(engines.threads);
        made->scales.emplace(views);
        made->resolve(result, views, chosen, levels);
        made->make_model(views, engines);
        return made;
    });
}

DeconvolvePlan ViewDeconvolver::plan() const {
    return impl_->plan;
}
const ObjectGrid& ViewDeconvolver::object() const {
    return impl_->object;
}

std::vector<DeconvolveReport> ViewDeconvolver::execute(const std::vector<ConstImageView>& images,
                                                       const ImageView& result,
                                                       const DeconvolveRun& run,
                                                       const ExecutionContext& context) const {
    Impl& impl = *impl_;
    const StopScope scope(context.stop);
    if (images.size() != impl.views.size())
        throw InvalidArgument(message("this deconvolution was planned for ", impl.views.size(),
                                      " views, but there are ", images.size(), " images"));
    for (std::size_t v = 0; v < images.size(); ++v)
        if (images[v].shape != impl.views[v].problem.image || images[v].data == nullptr)
            throw InvalidArgument(message("the image of view ", v + 1, " has the shape ",
                                          to_string(images[v].shape),
                                          " (z×y×x), but this deconvolution was planned for ",
                                          to_string(impl.views[v].problem.image)));
    if (result.shape != impl.problem.image || result.data == nullptr || is_complex(result.type))
        throw InvalidArgument(message("the result is ", to_string(result.shape), " (z×y×x) of ",
                                      to_string(result.type), ", but real numbers of the shape ",
                                      to_string(impl.problem.image), " were planned"));
    if (run.pixel_weights.data != nullptr)
        throw InvalidArgument(
            "several views take weights of pixels as masks: leave pixel_weights out");
    deconvolve::check_uncertainty(impl.problem, run.uncertainty);
    if (run.uncertainty != nullptr)
        for (const ConstImageView& image : images)
            if (overlap(image, result))
                throw InvalidArgument(
                    "the result would replace an image, of which the uncertainty is estimated: "
                    "give the result other memory");
    deconvolve::check_start(impl.problem, run.start);
    const std::lock_guard lock(impl.execution_mutex);
    if (run.uncertainty == nullptr) return impl.deconvolve_whole(images, result, run, context);
    return impl.execute_with_splits(images, result, run, context);
}

}  // namespace convolume
