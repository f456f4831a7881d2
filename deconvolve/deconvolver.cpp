// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "convolume/device_deconvolver.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "convolume/options.hpp"
#include "convolume/shape.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "deconvolve/estimates/background_slope.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/held_out_search.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/sufficient_limit.hpp"
#include "deconvolve/uncertainty.hpp"

namespace convolume {

namespace {

// Takes memory that was reserved from the limits, which keep the rest for the whole image.
void take_from_limits(index_t host_bytes, index_t device_bytes,
                      deconvolve::DeconvolutionProblem& problem, EngineChoice& engines) {
    std::optional<index_t>& host = problem.options.max_host_bytes;
    const index_t limit = host_limit_bytes(host);
    host = std::max<index_t>(0, limit - host_bytes);
    problem.reserved_host_bytes += limit - *host;
    if (engines.max_gpu_bytes)
        engines.max_gpu_bytes = std::max<index_t>(0, *engines.max_gpu_bytes - device_bytes);
}

// Makes the search for the background of images without a dark region. Returns the bytes of host
// memory that are reserved for it. It is left out if it takes more than a quarter of the limit.
index_t make_dark_level(deconvolve::DeconvolutionProblem& problem, EngineChoice& engines) {
    constexpr index_t most_share = 4;
    try {
        problem.dark_level = deconvolve::DarkLevel::make(problem, thread_count(engines.threads));
    } catch (const OutOfMemory&) {
        return 0;
    }
    if (!problem.dark_level) return 0;
    const index_t bytes = problem.dark_level->host_bytes();
    if (bytes > host_limit_bytes(problem.options.max_host_bytes) / most_share) {
        problem.dark_level.reset();
        return 0;
    }
    take_from_limits(bytes, 0, problem, engines);
    return bytes;
}

// Reserves memory for the estimate of the uncertainty, and returns its bytes.
index_t reserve_for_splits(deconvolve::DeconvolutionProblem& problem, EngineChoice& engines) {
    if (problem.options.splits == 0) return 0;
    const index_t bytes = deconvolve::uncertainty_bytes(problem);
    take_from_limits(bytes, 0, problem, engines);
    return bytes;
}

// Lowers the largest number of coarse iterations of a search if more are of no use, or are not
// searched for (DeconvolveOptions::coarse_start).
void limit_coarse_start(deconvolve::DeconvolutionProblem& problem) {
    if (!problem.options.hold_out) return;
    int& most = *problem.options.coarse_start;
    if (problem.psf_varies() || !deconvolve::has_haze(problem))
        most = std::min(most, usual_coarse_start);
}

// Reserves memory for coarser images first.
std::unique_ptr<deconvolve::CoarseStart> make_coarse_start(
    deconvolve::DeconvolutionProblem& problem, EngineChoice& engines) {
    auto start = deconvolve::CoarseStart::make(
        problem,
        [&](const deconvolve::DeconvolutionProblem& coarse) {
            std::string why_not_on_device;
            return deconvolve::place(coarse, engines, why_not_on_device);
        },
        thread_count(engines.threads));
    if (start) take_from_limits(start->host_bytes(), start->device_bytes(), problem, engines);
    return start;
}

// Reserves memory for the search in a part of a large image. `problem` then draws no photons.
std::unique_ptr<deconvolve::HeldOutSearch> make_search(deconvolve::DeconvolutionProblem& problem,
                                                       const ConstImageView& psf,
                                                       const DeconvolveOptions& options,
                                                       EngineChoice& engines) {
    auto search = deconvolve::HeldOutSearch::make(
        problem, psf, options, thread_count(engines.threads),
        [&](const deconvolve::DeconvolutionProblem& part) {
            std::string why_not_on_device;
            auto runner = deconvolve::place(part, engines, why_not_on_device);
            const std::optional<index_t>& limit = engines.max_gpu_bytes;
            if (!limit || runner->plan().device_bytes <= *limit / 2) return runner;
            // The whole image needs the GPU's memory more.
            EngineChoice cpu;
            cpu.device = EngineChoice::Device::cpu;
            cpu.threads = engines.threads;
            return deconvolve::place(part, cpu, why_not_on_device);
        });
    if (!search) return search;
    take_from_limits(search->host_bytes(), search->device_bytes(), problem, engines);
    problem.options.hold_out = false;
    problem.searches_in_part = true;
    return search;
}

}  // namespace

struct Deconvolver::Impl {
    deconvolve::DeconvolutionProblem problem;
    std::unique_ptr<deconvolve::CoarseStart> coarse_start;
    std::unique_ptr<deconvolve::HeldOutSearch> search;
    std::unique_ptr<deconvolve::Runner> runner;
    DeconvolvePlan plan;
    bool flattens_background = false;  ///< whether the background of the caller's images varies
    deconvolve::PixelBounds recorded_bounds;  ///< those of the caller's images, if it does
    int threads = 1;
    std::mutex execution_mutex;

    /// Returns the options for images whose background is made a constant, and keeps the bounds of
    /// their pixels.
    DeconvolveOptions of_flattened(DeconvolveOptions options) {
        flattens_background = std::exchange(options.has_varying_background, false);
        if (!flattens_background) return options;
        if (options.background)
            throw InvalidArgument(
                "the background is a number and also varies: give the number, or let a slope be "
                "found (smooth)");
        recorded_bounds = {options.saturation,
                           options.saturation == deconvolve::encoded_bounds().level};
        if (options.saturation) options.saturation = deconvolve::encoded_bounds().level;
        options.image_type.reset();
        return options;
    }

    /// Reserves memory for what the deconvolution does besides its iterations, and makes these
    /// parts; then the runner, with what they have left of memory, and the plan.
    template <class MakeSearch>
    void prepare(const EngineChoice& engines, const MakeSearch& make_search) {
        if (flattens_background) deconvolve::check_varying_background(problem);
        limit_coarse_start(problem);
        EngineChoice rest = engines;
        threads = thread_count(engines.threads);
        const index_t splits = reserve_for_splits(problem, rest);
        const index_t reserved = splits + make_dark_level(problem, rest);
        coarse_start = make_coarse_start(problem, rest);
        make_search(rest);
        place(rest);
        plan.host_bytes += reserved;
    }
    void place(const EngineChoice& engines) {
        std::string why_not_on_device;
        runner = deconvolve::place(problem, engines, why_not_on_device);
        plan = runner->plan();
        plan.psfs = static_cast<int>(problem.psf_count());
        plan.splits = problem.options.splits;
        plan.coarse_iterations = *problem.options.coarse_start;
        if (coarse_start) {
            plan.coarse_images = coarse_start->images();
            plan.host_bytes += coarse_start->host_bytes();
            plan.device_bytes += coarse_start->device_bytes();
        }
        if (search) {
            plan.searched_part = search->part();
            plan.host_bytes += search->host_bytes();
            plan.device_bytes += search->device_bytes();
        }
        if (!why_not_on_device.empty()) plan.why_not_on_device = why_not_on_device;
        problem.release_taps();
    }
    deconvolve::ImageHelpers helpers() const { return {coarse_start.get(), search.get()}; }
    DeconvolveReport execute(deconvolve::CallerImages& images, const DeconvolveRun& run,
                             const ExecutionContext& context) {
        const StopScope scope(context.stop);
        deconvolve::check_start(problem, run.start);
        deconvolve::check_pixel_weights(problem, run.pixel_weights);
        // One execution at a time uses the arrays of the runner.
        const std::lock_guard lock(execution_mutex);
        if (run.uncertainty == nullptr) return runner->execute(problem, images, context, run);
        return execute_with_splits(images, run, context);
    }
    /// Subtracts the slope of a varying background from the image first.
    DeconvolveReport execute_flattened(ImageSource& image, ImageSink& result,
                                       const DeconvolveRun& run, const ExecutionContext& context) {
        const StopScope scope(context.stop);
        const deconvolve::BackgroundSlope slope =
            deconvolve::find_background_slope(image, recorded_bounds, threads);
        deconvolve::FlattenedVolume flattened(image, slope, recorded_bounds);
        deconvolve::StreamedImages images(flattened, result, context, helpers());
        DeconvolveReport report = execute(images, run, context);
        report.background_range = slope.range();
        return report;
    }

  private:
    /// Also estimates the uncertainty. `images` must be readable again.
    DeconvolveReport execute_with_splits(deconvolve::CallerImages& images, const DeconvolveRun& run,
                                         const ExecutionContext& context) {
        const double result = search ? 1 / (1 - search->share_of_time()) : 1;
        const double share = result / (result + 2 * problem.options.splits);
        const auto part = [&](double from, double to) {
            ExecutionContext own = deconvolve::progress_between(context, from, to);
            own.timeline = context.timeline;
            return own;
        };
        const auto begin = std::chrono::steady_clock::now();
        DeconvolveReport report = runner->execute(problem, images, part(0, share), run);
        deconvolve::estimate_uncertainty({*runner, problem, coarse_start.get()}, images, report,
                                         run, part(share, 1), threads);
        report.executed.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return report;
    }
};

Deconvolver::Deconvolver(const Shape3& image_shape, const ConstImageView& psf,
                         const DeconvolveOptions& options, const EngineChoice& engines) {
    deconvolve::check_unused_of_image(options);
    impl_ =
        deconvolve::make_within_limits(image_shape, options, [&](const DeconvolveOptions& chosen) {
            auto made = std::make_unique<Impl>();
            const DeconvolveOptions flattened = made->of_flattened(chosen);
            made->problem =
                deconvolve::resolve_problem(image_shape, psf, flattened, engines.threads);
            made->prepare(engines, [&](EngineChoice& rest) {
                made->search = make_search(made->problem, psf, flattened, rest);
            });
            return made;
        });
}

// A search of held-out photons is in the whole image, since a part would have one PSF.
Deconvolver::Deconvolver(const Shape3& image_shape, const std::vector<DepthPsf>& psfs,
                         const DeconvolveOptions& options, const EngineChoice& engines) {
    deconvolve::check_unused_of_image(options);
    impl_ =
        deconvolve::make_within_limits(image_shape, options, [&](const DeconvolveOptions& chosen) {
            auto made = std::make_unique<Impl>();
            made->problem = deconvolve::resolve_problem(
                image_shape, psfs, made->of_flattened(chosen), engines.threads);
            made->prepare(engines, [](EngineChoice&) {});
            return made;
        });
}

DeconvolvePlan Deconvolver::plan() const {
    return impl_->plan;
}
double Deconvolver::psf_sum() const {
    return impl_->problem.psf_sum;
}
index_t Deconvolver::negative_psf_samples() const {
    return impl_->problem.negative_psf_samples;
}

namespace {

void check_formats(const deconvolve::DeconvolutionProblem& problem, const StackFormat& image,
                   const StackFormat& result) {
    const auto expect = [&](const char* what, const StackFormat& format) {
        if (format.shape != problem.image)
            throw InvalidArgument(message("the ", what, " has the shape ", to_string(format.shape),
                                          " (z×y×x), but this deconvolution was planned for ",
                                          to_string(problem.image), ": plan another one"));
        if (format.volumes() != 1)
            throw InvalidArgument(message("the ", what, " has ", format.channels, " channels and ",
                                          format.frames,
                                          " times: choose one by SourceChannel and SinkChannel"));
    };
    expect("image", image);
    expect("result", result);
    if (is_complex(result.type))
        throw InvalidArgument(message("the result is real and is not stored as ",
                                      to_string(result.type), ": use float32"));
    const auto planned = problem.options.image_type;
    if (planned && deconvolve::fits_uint16(*planned) && !deconvolve::fits_uint16(image.type))
        throw InvalidArgument(message("this deconvolution was planned for images of the type ",
                                      to_string(*planned), ", not ", to_string(image.type),
                                      ": plan another one"));
}

}  // namespace

DeconvolveReport Deconvolver::execute(const ConstImageView& image, const ImageView& result,
                                      const DeconvolveRun& run,
                                      const ExecutionContext& context) const {
    check_formats(impl_->problem, {image.shape, image.type}, {result.shape, result.type});
    check_memory(image.data, "image", result.data, "result");
    deconvolve::check_uncertainty(impl_->problem, run.uncertainty);
    if (run.uncertainty != nullptr && overlap(image, result))
        throw InvalidArgument(
            "the result would replace the image, of which the uncertainty is estimated: give "
            "the result other memory");
    if (impl_->flattens_background) {
        ViewSource source(image);
        ViewSink sink(result);
        return impl_->execute_flattened(source, sink, run, context);
    }
    deconvolve::HostImages images(image, result, impl_->helpers());
    return impl_->execute(images, run, context);
}

DeconvolveReport Deconvolver::execute(ImageSource& image, ImageSink& result,
                                      const DeconvolveRun& run,
                                      const ExecutionContext& context) const {
    check_formats(impl_->problem, image.format(), result.format());
    deconvolve::check_uncertainty(impl_->problem, run.uncertainty);
    if (impl_->flattens_background) return impl_->execute_flattened(image, result, run, context);
    deconvolve::StreamedImages images(image, result, context, impl_->helpers());
    return impl_->execute(images, run, context);
}

struct DeviceDeconvolver::Impl {
    deconvolve::DeconvolutionProblem problem;
    DeviceDeconvolveOptions on_device;
    std::unique_ptr<deconvolve::Runner> runner;
    std::mutex execution_mutex;
};

DeviceDeconvolver::DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                                     const DeconvolveOptions& options,
                                     const DeviceDeconvolveOptions& device)
    : impl_(std::make_unique<Impl>()) {
    for (const PixelType type : {device.image_type, device.output_type})
        if (is_complex(type))
            throw InvalidArgument(
                message("images are real and not of the type ", to_string(type), ": use float32"));
    if (options.splits > 0)
        throw InvalidArgument(
            "the uncertainty is estimated of images in host memory, and these are in a GPU's: "
            "leave splits out, or use Deconvolver");
    if (options.has_pixel_weights)
        throw InvalidArgument(
            "weights of pixels are for images in host memory, and these are in a GPU's: leave them "
            "out, or use Deconvolver");
    if (options.has_varying_background)
        throw InvalidArgument(
            "a background that varies is found in images in host memory, and these are in a GPU's: "
            "give another background, or use Deconvolver");
    if (options.coarse_start.value_or(0) > 0)
        throw InvalidArgument(
            "a coarse start is made of images in host memory, and these are in a GPU's: leave it "
            "out, or use Deconvolver");
    if (deconvolve::device_deconvolution() == nullptr)
        throw GpuUnavailable("this program was built without CUDA: link convolume::cuda");
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    require_on_device(device.workspace_of.get().get(), device.device);
    EngineChoice engines;
    engines.device = EngineChoice::Device::gpu;
    engines.gpus = {device.device};
    engines.max_gpu_bytes = device.max_gpu_bytes;
    impl_->on_device = device;
    impl_->on_device.workspace_of = {};
    deconvolve::check_unused_of_image(options);
    // A search without a coarse start takes long, so that it is made on demand only.
    DeconvolveOptions of_images = options;
    of_images.coarse_start = 0;
    if (!options.iterations && !options.hold_out)
        of_images.iterations = deconvolve::traits_of(options).usual_iterations;
    of_images = resolved(of_images, image_shape.z);
    of_images.image_type = device.image_type;
    impl_->problem = deconvolve::resolve_problem(image_shape, psf, of_images);
    make_dark_level(impl_->problem, engines);
    impl_->runner = deconvolve::place_on_gpus(impl_->problem, engines, device.workspace_of.get());
    const DeconvolvePlan plan = impl_->runner->plan();
    if (!plan.on_device)
        throw OutOfMemory(message("the deconvolution does not stay in the memory of GPU ",
                                  device.device, ", since ", plan.why_not_on_device),
                          MemoryKind::gpu);
    impl_->problem.release_taps();
}

WorkspaceOf::WorkspaceOf(const DeviceDeconvolver* deconvolver) {
    if (deconvolver) workspace_ = deconvolver->impl_->runner->workspace();
}

const Shape3& DeviceDeconvolver::image_shape() const {
    return impl_->problem.image;
}
DeconvolvePlan DeviceDeconvolver::plan() const {
    return impl_->runner->plan();
}

DeconvolveReport DeviceDeconvolver::execute(const void* image, void* result, DeviceStream stream,
                                            const DeconvolveRun& run,
                                            const ExecutionContext& context) const {
    check_memory(image, "image", result, "result");
    deconvolve::check_start(impl_->problem, run.start);
    const DeviceDeconvolveOptions& on_device = impl_->on_device;
    const auto images = deconvolve::device_deconvolution()->make_images(
        {on_device.device, image, on_device.image_type, result, on_device.output_type,
         stream.get()},
        impl_->problem.image);
    // One execution at a time uses the arrays of the runner.
    const std::lock_guard lock(impl_->execution_mutex);
    return impl_->runner->execute(impl_->problem, *images, context, run);
}

}  // namespace convolume
