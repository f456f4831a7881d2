// SPDX-License-Identifier: Apache-2.0

#include <limits>
#include <optional>
#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/executors/host_passes.hpp"
#include "deconvolve/loop.hpp"
#include "deconvolve/placement.hpp"
#include "engines/engines.hpp"
#include "forward/planned_view.hpp"
#include "volumes/convolver_factory.hpp"

namespace convolume::deconvolve {

namespace {

index_t limit_bytes(const DeconvolutionProblem& problem) {
    return host_limit_bytes(problem.options.max_host_bytes);
}

index_t array_pair_bytes(const DeconvolutionProblem& problem) {
    return static_cast<index_t>(sizeof(float)) *
           (element_count(problem.object) + element_count(problem.image));
}

Convolver make_convolver(const DeconvolutionProblem& problem, const Volume& taps,
                         Operation operation, index_t limit, const EngineList& engines) {
    Options options = problem.blur(operation);
    options.max_host_bytes = limit;
    return ConvolverFactory::make(problem.object, taps.view(), options, engines);
}

// Runs a deconvolution over whole arrays, around convolvers.
class HostArrayRunner final : public Runner {
  public:
    HostArrayRunner(const DeconvolutionProblem& problem, const EngineList& engines, int threads)
        : threads_(threads) {
        const index_t limit = limit_bytes(problem);
        const index_t arrays = array_bytes(problem);
        const index_t own = checked_add(arrays, caller_bytes(problem));
        if (own >= limit)
            throw OutOfMemory(message("the deconvolution's arrays take ", format_bytes(arrays),
                                      " and its images ", format_bytes(own - arrays),
                                      ", but the limit is ",
                                      format_bytes(limit + problem.reserved_host_bytes)));
        // A convolver counts its input and output, which are arrays counted above.
        const index_t each = checked_add((limit - own) / (problem.traits.has_unmatched ? 3 : 2),
                                         array_pair_bytes(problem));
        blur_.emplace(make_convolver(problem, problem.psf, Operation::convolve, each, engines));
        back_.emplace(make_convolver(problem, problem.psf, Operation::adjoint, each, engines));
        if (problem.traits.has_unmatched)
            unmatched_.emplace(
                make_convolver(problem, problem.unmatched, Operation::adjoint, each, engines));

        plan_.object = problem.object;
        plan_.grid = blur_->plan().chosen.grid;
        plan_.array_bytes = arrays;
        for (const std::string& engine : blur_->plan().engines)
            plan_.engines += (plan_.engines.empty() ? "" : " ") + engine;
        index_t convolutions = 0;
        for (const std::optional<Convolver>* convolver : {&blur_, &back_, &unmatched_}) {
            if (!*convolver) continue;
            const PlanCandidate chosen = (*convolver)->plan().chosen;
            if (chosen.on_gpu)
                plan_.device_bytes = std::max(plan_.device_bytes, chosen.engine_bytes);
            convolutions += std::max<index_t>(0, chosen.host_bytes - array_pair_bytes(problem));
        }
        plan_.host_bytes = own + convolutions;
    }

    DeconvolveReport execute(const DeconvolutionProblem& problem, CallerImages& images,
                             const ExecutionContext& context,
                             const DeconvolveRun& run_options) override {
        if (!arrays_) {
            const PhaseTimer timer(context.timeline, Phase::allocate);
            arrays_.emplace(problem, *blur_, *back_, threads_, unmatched_ ? &*unmatched_ : nullptr);
        }
        arrays_->use(context);
        ArrayExecutor<HostArrays> executor(*arrays_, problem);
        return run(executor, problem, images, context, run_options, -1);
    }

  private:
    int threads_;
    std::optional<Convolver> blur_;
    std::optional<Convolver> back_;
    std::optional<Convolver> unmatched_;
    std::optional<HostArrays> arrays_;
};

// Runs a deconvolution on the CPU by passes over spectra: fused with the iterations if the method
// allows it, else around whole arrays.
class HostPassRunner final : public Runner {
  public:
    /// `psfs` are those of the recordings, one after the other.
    HostPassRunner(const DeconvolutionProblem& problem, const HostPassLayout& layout,
                   const std::vector<ConstImageView>& psfs, const std::string& engine,
                   index_t image_bytes)
        : layout_(layout), psfs_(psfs) {
        plan_.object = problem.object;
        for (const RecordingLayout& one : layout.recordings)
            forward::extend_to(plan_.grid, {one.axes[0].grid, one.axes[1].grid, one.axes[2].grid});
        plan_.engines = engine;
        plan_.array_bytes =
            steps_by_voxel(problem) ? layout.array_bytes() : deconvolve::array_bytes(problem);
        plan_.host_bytes = checked_add(bytes(problem, layout), image_bytes);
    }

    static index_t bytes(const DeconvolutionProblem& problem, const HostPassLayout& layout) {
        if (steps_by_voxel(problem)) return layout.bytes();
        const cpu::HostPlanePasses::Bytes passes = layout.first().pass_bytes();
        return std::max(checked_add(passes.while_made, layout.first().tap_bytes),
                        checked_add(passes.afterwards, deconvolve::array_bytes(problem)));
    }

    DeconvolveReport execute(const DeconvolutionProblem& problem, CallerImages& images,
                             const ExecutionContext& context,
                             const DeconvolveRun& run_options) override {
        if (!fused_ && !arrays_) {
            const PhaseTimer timer(context.timeline, Phase::prepare, 0);
            if (steps_by_voxel(problem)) {
                fused_.emplace(layout_, psfs_.views());
            } else {
                passes_.emplace(make_plane_passes(layout_.first(), psfs_.views()));
                arrays_.emplace(problem, *passes_, layout_.threads);
            }
            psfs_.release();
        }
        if (fused_) {
            fused_->use(context);
            return run(*fused_, problem, images, context, run_options);
        }
        arrays_->use(context);
        ArrayExecutor<HostPassArrays> executor(*arrays_, problem);
        return run(executor, problem, images, context, run_options, -1);
    }

  private:
    HostPassLayout layout_;
    TapCopies psfs_;
    std::optional<HostPassExecutor> fused_;
    std::optional<cpu::HostPlanePasses> passes_;  ///< passes around arrays
    std::optional<HostPassArrays> arrays_;
};

// Whether direct sums, or three 1D convolutions, take less time than transforms.
bool direct_sums_are_faster(const DeconvolutionProblem& problem, const EngineList& engines) {
    constexpr index_t unlimited = std::numeric_limits<index_t>::max() / 4;
    return make_convolver(problem, problem.psf, Operation::convolve, unlimited, engines)
               .plan()
               .chosen.algorithm != Algorithm::fft;
}

// Makes a runner whose passes keep the kernels' spectra if memory allows. Returns null if passes do
// not fit, or if direct sums are faster for one of the recordings. `layout(keep_spectrum)` makes
// the layout.
template <class MakeLayout>
std::unique_ptr<Runner> make_pass_runner(const DeconvolutionProblem& problem,
                                         const std::vector<const DeconvolutionProblem*>& recordings,
                                         index_t image_bytes, const EngineChoice& choice,
                                         const EngineList& engines, const MakeLayout& make_layout) {
    const bool on_cpu = engines.size() == 1 && !engines.front()->info().is_gpu;
    std::vector<ConstImageView> psfs;
    for (const DeconvolutionProblem* one : recordings) {
        if (!on_cpu || !can_convolve_by_passes(*one)) return nullptr;
        for (const ConstImageView& psf : one->psf_views()) psfs.push_back(psf);
    }
    const index_t limit = limit_bytes(problem) - image_bytes;
    const index_t limit_of_engine =
        choice.max_cpu_engine_bytes.value_or(std::numeric_limits<index_t>::max());
    for (const bool keep_spectrum : {true, false}) {
        const HostPassLayout layout = make_layout(keep_spectrum);
        if (layout.bytes() > limit || layout.bytes() - layout.array_bytes() > limit_of_engine)
            continue;
        for (const DeconvolutionProblem* one : recordings)
            if (direct_sums_are_faster(*one, engines)) return nullptr;
        return std::make_unique<HostPassRunner>(problem, layout, psfs, engines.front()->info().name,
                                                image_bytes);
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<Runner> make_host_pass_runner(const DeconvolutionProblem& problem,
                                              const EngineChoice& choice,
                                              const EngineList& engines) {
    const int threads = thread_count(choice.threads);
    return make_pass_runner(
        problem, {&problem}, caller_bytes(problem), choice, engines,
        [&](bool keep_spectrum) { return HostPassLayout(problem, threads, keep_spectrum); });
}

std::unique_ptr<Runner> make_host_view_runner(const DeconvolutionProblem& problem,
                                              const std::vector<RecordedView>& views,
                                              const ViewScales& scales, index_t image_bytes,
                                              const EngineChoice& choice) {
    const int threads = thread_count(choice.threads);
    std::vector<const DeconvolutionProblem*> recordings;
    for (const RecordedView& view : views) recordings.push_back(&view.problem);
    return make_pass_runner(
        problem, recordings, image_bytes, choice, make_engines(choice), [&](bool keep_spectrum) {
            std::vector<RecordingLayout> layouts;
            for (const RecordedView& view : views)
                layouts.emplace_back(view.problem, view.sampling, threads, keep_spectrum);
            return HostPassLayout(problem, std::move(layouts), &scales);
        });
}

std::unique_ptr<Runner> make_host_depth_runner(const DeconvolutionProblem& problem,
                                               const EngineChoice& choice,
                                               const EngineList& engines) {
    const auto cpu = std::find_if(engines.begin(), engines.end(),
                                  [](const auto& engine) { return !engine->info().is_gpu; });
    if (cpu == engines.end())
        throw InvalidArgument(
            "a PSF that varies with depth does not fit these GPUs: allow the CPU (device auto or "
            "cpu)");
    const index_t limit = limit_bytes(problem) - caller_bytes(problem);
    index_t needed = 0;
    for (const bool keep_spectrum : {true, false}) {
        const HostPassLayout layout(problem, thread_count(choice.threads), keep_spectrum);
        needed = HostPassRunner::bytes(problem, layout);
        if (needed <= limit)
            return std::make_unique<HostPassRunner>(problem, layout, problem.psf_views(),
                                                    (*cpu)->info().name, caller_bytes(problem));
    }
    throw OutOfMemory(message("the deconvolution with ", problem.psf_count(), " PSFs takes ",
                              format_bytes(needed), " and its images ",
                              format_bytes(caller_bytes(problem)), ", but the limit is ",
                              format_bytes(limit_bytes(problem))));
}

std::unique_ptr<Runner> make_host_array_runner(const DeconvolutionProblem& problem,
                                               const EngineList& engines, int threads) {
    return std::make_unique<HostArrayRunner>(problem, engines, threads);
}

}  // namespace convolume::deconvolve
