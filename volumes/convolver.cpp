// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/pixels/rows.hpp"
#include "core/rank1.hpp"
#include "core/report.hpp"
#include "core/scratch_file.hpp"
#include "core/stop_scope.hpp"
#include "core/views.hpp"
#include "engines/engines.hpp"
#include "volumes/adjoint.hpp"
#include "volumes/convolver_factory.hpp"
#include "volumes/missing_samples.hpp"
#include "volumes/plan_runner.hpp"
#include "volumes/problem.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

namespace {

// Advice at the end of messages about NaN or infinities in an image.
constexpr const char* cure_of_nonfinite =
    "repair it, or choose to read such samples as zero or to propagate them";

// Thrown if memory runs out after samples have been written. A sink takes every sample once, so
// that the execution is not tried again.
struct OutOfMemoryAfterWrite {
    OutOfMemory error;
};

ExecutionContext without_progress(ExecutionContext context) {
    context.progress = nullptr;
    return context;
}

// Calls run(t, c, context) for every volume, one after the other, and adds up the reports.
template <class Run>
ExecutionReport for_each_volume(const StackFormat& format, const ExecutionContext& context,
                                const Run& run) {
    ReportSum sum;
    TaskProgress progress(context, format.volumes(), 0, 1);
    for (index_t volume = 0; volume < format.volumes(); ++volume)
        sum.add(run(volume / format.channels, volume % format.channels, progress.of_task(volume)));
    return sum.report();
}

}  // namespace

struct Convolver::Impl {
    Options options;
    ResolvedProblem resolved;
    EngineList engines;  ///< all engines that a plan may use
    mutable std::mutex runner_mutex;
    mutable std::shared_ptr<const PlanRunner> current_runner;

    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
         EngineList engine_list, PixelType image_type, PixelType output_type)
        : Impl(image, taps, opts, image_type, output_type) {
        engines = std::move(engine_list);
        current_runner = make_runner();
    }

    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
         const EngineChoice& choice, PixelType image_type, PixelType output_type,
         Volume* given_up = nullptr)
        : Impl(image, taps, opts, image_type, output_type, given_up) {
        choose_engines(choice);
        if (!current_runner) current_runner = make_runner();
    }

    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts, PixelType image_type,
         PixelType output_type, Volume* given_up = nullptr)
        : options(opts),
          resolved(resolve_problem(image, taps, opts, image_type, output_type, given_up)) {
        resolved.problem.rank1_kernel =
            may_sum_in_space() && !resolved.problem.complex_data &&
            factor_rank1(resolved.taps->view(), options.precision, resolved.peak).has_value();
    }

    /// Makes the engines. If those of the CPU end before GPUs start, their plan is the current one.
    void choose_engines(const EngineChoice& choice) {
        if (may_end_before_gpus_start(choice)) return;
        const double start_s = gpu_start_seconds(choice);
        engines = with_joined_gpus(make_engines(choice));
        if (engines.front()->info().is_gpu) resolved.problem.start_s = start_s;
        current_runner.reset();
    }

    // Plans for the CPU alone if few executions are expected. Returns whether they end on the CPU
    // before a GPU could start.
    bool may_end_before_gpus_start(const EngineChoice& choice) {
        const double start_s = gpu_start_seconds(choice);
        if (choice.device != EngineChoice::Device::automatic || !options.expected_executions ||
            start_s == 0)
            return false;
        EngineChoice cpu = choice;
        cpu.device = EngineChoice::Device::cpu;
        engines = make_engines(cpu);
        try {
            current_runner = make_runner();
        } catch (const OutOfMemory&) {
            return false;  // GPUs may need less memory
        }
        return current_runner->plan().chosen.seconds <= start_s;
    }

    std::shared_ptr<const PlanRunner> make_runner() const {
        throw_if_stopped();
        TaskPlan plan = make_plan(resolved.problem, options, engines);
        EngineList chosen;
        for (const int index : plan.engine_indices)
            chosen.push_back(engines[static_cast<std::size_t>(index)]);
        return std::make_shared<const PlanRunner>(std::move(plan), std::move(chosen), resolved.taps,
                                                  options.scratch_directory);
    }

    std::shared_ptr<const PlanRunner> runner() const {
        const std::lock_guard lock(runner_mutex);
        return current_runner;
    }

    /// Makes a new plan after a GPU had less memory than planned. The GPU's engine knows the new
    /// limit.
    void plan_again(const std::shared_ptr<const PlanRunner>& failed) const {
        const std::lock_guard lock(runner_mutex);
        if (current_runner != failed) return;  // another execution has made a new plan
        failed->release();
        current_runner = make_runner();
    }

    /// Calls run(runner), and again with smaller plans as long as GPUs run out of memory.
    template <class Run>
    ExecutionReport run_with_retries(const Run& run) const {
        constexpr int attempts = 4;
        for (int attempt = 1;; ++attempt) {
            const auto current = runner();
            try {
                return run(*current);
            } catch (const OutOfMemory&) {
                if (!current->plan().chosen.on_gpu || attempt == attempts) throw;
            }
            plan_again(current);
        }
    }

    bool may_sum_in_space() const {
        return options.method == Method::direct ||
               (options.method == Method::automatic && options.parts == 0);
    }

    bool may_hold_nonfinite(PixelType type) const {
        return options.nan != NanPolicy::propagate && !is_integer(type);
    }
    PixelType natural_type() const {
        return sample_type(options.precision, resolved.problem.complex_data);
    }
    void check_shapes_and_types(const Shape3& input, PixelType input_type, const Shape3& output,
                                PixelType output_type) const {
        const auto expect = [](const char* what, const Shape3& found, const Shape3& wanted) {
            if (found != wanted)
                throw InvalidArgument(message("the ", what, " has the shape ", to_string(found),
                                              " (z×y×x), but this convolution was planned for ",
                                              to_string(wanted), ": plan another one"));
        };
        expect("input", input, resolved.input_shape);
        expect("output", output, resolved.output_shape);
        const bool complex_data = resolved.problem.complex_data;
        if (is_complex(input_type) && !complex_data)
            throw InvalidArgument(
                "the input is complex, but this convolution was planned for real images: give the "
                "complex type when planning");
        check_result_type(complex_data, output_type);
    }

    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context) const {
        check_shapes_and_types(input.shape, input.type, output.shape, output.type);
        check_memory(input.data, "input", output.data, "output");
        if (overlap(input, output))
            throw InvalidArgument(
                "input and output overlap in memory: convolve into memory of its own");
        if (may_repeat_elements(output))
            throw InvalidArgument(
                "samples of the output are in the same memory: give strides that keep them apart");
        if (resolved.weight && !is_integer(input.type) &&
            pixels::find_nonfinite(input, runner()->threads()))
            return run_without_missing(input, output, context);
        if (!resolved.folds) return run_views(input, output, context);
        Volume extended(resolved.problem.output.shape(), natural_type());
        ExecutionReport report = run_views(input, extended.view(), context);
        const ClampCount clamped =
            fold(extended.view(), resolved.fold_sources, output, runner()->threads());
        report.clamped_low = clamped.low;
        report.clamped_high = clamped.high;
        return report;
    }

    // Arguments for an image, or for the mask of an image with missing samples.
    ExecutionArguments arguments_of(bool is_mask) const {
        ExecutionArguments arguments;
        arguments.subtract = is_mask ? resolved.subtract_of_ones : resolved.subtract;
        arguments.add = is_mask ? resolved.add_of_ones : resolved.add;
        return arguments;
    }

    ExecutionReport run_without_missing(const ConstImageView& input, const ImageView& output,
                                        const ExecutionContext& context) const {
        const int threads = runner()->threads();
        Volume sums(output.shape, natural_type()), weights(output.shape, natural_type());
        ExecutionReport report = run_views(input, sums.view(), context);
        const Volume mask = finite_mask(input, threads);
        run_views(mask.view(), weights.view(), without_progress(context), true);
        const ClampCount clamped =
            resolved.weight->divide(sums.view(), weights.view(), output, threads);
        report.clamped_low = clamped.low;
        report.clamped_high = clamped.high;
        return report;
    }

    // Runs the plan. `output` gets its results before they are folded.
    ExecutionReport run_views(const ConstImageView& input, const ImageView& output,
                              const ExecutionContext& context, bool is_mask = false) const {
        ExecutionArguments arguments = arguments_of(is_mask);
        arguments.input = input;
        arguments.output = output;
        return run_with_retries([&](const PlanRunner& current) {
            return current.plan().chosen.on_gpu ? run_on_gpu(current, arguments, context)
                                                : run_on_cpu(current, arguments, context);
        });
    }

    ExecutionReport run_on_cpu(const PlanRunner& current, ExecutionArguments& arguments,
                               const ExecutionContext& context) const {
        const index_t found =
            may_hold_nonfinite(arguments.input.type) ? check_finite(arguments.input) : 0;
        arguments.nonfinite_to_zero = found > 0;
        ExecutionReport report = current.execute(arguments, context);
        report.nonfinite_inputs = found;
        return report;
    }

    // GPUs look for NaN as they load samples. The host, whose memory is slower, looks for the first
    // NaN only if a GPU has found one.
    ExecutionReport run_on_gpu(const PlanRunner& current, ExecutionArguments& arguments,
                               const ExecutionContext& context) const {
        arguments.find_nonfinite = may_hold_nonfinite(arguments.input.type);
        arguments.nonfinite_to_zero = arguments.find_nonfinite && options.nan != NanPolicy::error;
        ExecutionReport report = current.execute(arguments, context);
        if (report.nonfinite_inputs > 0) report.nonfinite_inputs = check_finite(arguments.input);
        return report;
    }

    // Returns the number of samples that are read as 0. Throws NonfiniteSample if NaN are errors.
    index_t check_finite(const ConstImageView& input) const {
        const auto found = pixels::find_nonfinite(input, runner()->threads());
        if (!found) return 0;
        if (options.nan == NanPolicy::error)
            throw NonfiniteSample(found->value, {.index = found->index}, cure_of_nonfinite);
        return pixels::count_nonfinite(input, runner()->threads());
    }

    ExecutionReport execute(ImageSource& source, ImageSink& sink,
                            const ExecutionContext& context) const {
        const StackFormat from = source.format(), to = sink.format();
        check_shapes_and_types(from.shape, from.type, to.shape, to.type);
        if (from.frames != to.frames || from.channels != to.channels)
            throw InvalidArgument(message("the source has ", from.frames, " times and ",
                                          from.channels, " channels, the sink ", to.frames, " and ",
                                          to.channels, ": give a sink of as many"));
        if (resolved.weight && !is_integer(from.type))
            return stream_without_missing(source, sink, context);
        return resolved.folds ? run_folded(source, sink, context)
                              : run_stream(source, sink, context);
    }

    ExecutionReport run_stream(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context, bool is_mask = false) const {
        StreamedImage stream{&source, &sink};
        ExecutionArguments arguments = arguments_of(is_mask);
        arguments.stream = &stream;
        arguments.find_nonfinite = may_hold_nonfinite(source.format().type);
        arguments.nonfinite_to_zero = arguments.find_nonfinite && options.nan != NanPolicy::error;
        const auto run = [&](const PlanRunner& current) {
            try {
                return current.execute(arguments, context);
            } catch (const NonfiniteInStream&) {
                check_finite(source, context);
                throw InternalError("NaN or infinities were found in an image that has none");
            } catch (const OutOfMemory& error) {
                if (stream.written) throw OutOfMemoryAfterWrite{error};
                throw;
            }
        };
        ExecutionReport report;
        try {
            report = run_with_retries(run);
        } catch (const OutOfMemoryAfterWrite& refused) {
            throw refused.error;
        }
        // Several tasks may count one sample, so the exact number is counted here.
        if (arguments.find_nonfinite && report.nonfinite_inputs > 0)
            report.nonfinite_inputs = check_finite(source, context);
        return report;
    }

    // Sums and weights of each volume go to scratch files, and are divided some planes at a time.
    ExecutionReport stream_without_missing(ImageSource& source, ImageSink& sink,
                                           const ExecutionContext& context) const {
        return for_each_volume(
            source.format(), context, [&](index_t t, index_t c, const ExecutionContext& part) {
                SourceChannel input(source, c, t);
                SinkChannel output(sink, c, t);
                const Shape3& shape = resolved.output_shape;
                ScratchVolume sums(options.scratch_directory, shape, natural_type());
                ScratchVolume weights(options.scratch_directory, shape, natural_type());
                ExecutionReport report = run_stream(input, sums, part);
                const int threads = runner()->threads();
                FiniteMask mask(input, threads);
                run_stream(mask, weights, without_progress(part), true);
                const index_t at_once = planes_in_group(shape, natural_type());
                ClampCount clamped;
                for (index_t z = 0; z < shape.z; z += at_once) {
                    throw_if_stopped(context);
                    const Box3 box{{z, 0, 0}, {std::min(z + at_once, shape.z), shape.y, shape.x}};
                    Volume dividend(box.shape(), natural_type()),
                        divisor(box.shape(), natural_type());
                    Volume planes(box.shape(), sink.format().type);
                    sums.read_box(0, 0, box, dividend.view());
                    weights.read_box(0, 0, box, divisor.view());
                    clamped += resolved.weight->divide(dividend.view(), divisor.view(),
                                                       planes.view(), threads);
                    output.write_box(0, 0, box, planes.view());
                }
                report.clamped_low = clamped.low;
                report.clamped_high = clamped.high;
                return report;
            });
    }

    ExecutionReport run_folded(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context) const {
        return for_each_volume(
            source.format(), context, [&](index_t t, index_t c, const ExecutionContext& part) {
                SourceChannel input(source, c, t);
                SinkChannel output(sink, c, t);
                ScratchVolume extended(options.scratch_directory, resolved.problem.output.shape(),
                                       natural_type());
                ExecutionReport report;
                try {
                    report = run_stream(input, extended, part);
                } catch (const NonfiniteSample& error) {
                    throw error.at({error.place().index, t, c, source.format().volumes() > 1});
                }
                const ClampCount clamped =
                    fold_planes(extended, resolved.fold_sources, output, runner()->threads(), part);
                report.clamped_low = clamped.low;
                report.clamped_high = clamped.high;
                return report;
            });
    }

    /// Returns the number of NaN and infinities in a stream. Throws NonfiniteSample at the first
    /// one if they are errors.
    index_t check_finite(ImageSource& source, const ExecutionContext& context) const {
        const StackFormat format = source.format();
        const Shape3& shape = format.shape;
        const index_t at_once = planes_in_group(shape, format.type, format.piece.z);
        index_t count = 0;
        for (index_t t = 0; t < format.frames; ++t)
            for (index_t c = 0; c < format.channels; ++c)
                for (index_t z = 0; z < shape.z; z += at_once) {
                    throw_if_stopped(context);
                    const Box3 box{{z, 0, 0}, {std::min(z + at_once, shape.z), shape.y, shape.x}};
                    Volume planes(box.shape(), format.type);
                    source.read_box(t, c, box, planes.view());
                    const auto found = pixels::find_nonfinite(planes.view(), runner()->threads());
                    if (!found) continue;
                    if (options.nan == NanPolicy::error) {
                        const Index3 at{z + found->index.z, found->index.y, found->index.x};
                        throw NonfiniteSample(found->value, {at, t, c, format.volumes() > 1},
                                              cure_of_nonfinite);
                    }
                    count += pixels::count_nonfinite(planes.view(), runner()->threads());
                }
        return count;
    }
};

// The public members of Convolver

Convolver::Convolver(const Shape3& image_shape, const ConstImageView& kernel,
                     const Options& options, const EngineChoice& engines, PixelType image_type,
                     PixelType output_type)
    : Convolver(
          std::make_unique<Impl>(image_shape, kernel, options, engines, image_type, output_type)) {}
Convolver::Convolver(const Shape3& image_shape, Volume kernel, const Options& options,
                     const EngineChoice& engines, PixelType image_type, PixelType output_type)
    : Convolver(std::make_unique<Impl>(image_shape, kernel.view(), options, engines, image_type,
                                       output_type, &kernel)) {}
Convolver::Convolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Convolver::~Convolver() = default;
Convolver::Convolver(Convolver&&) noexcept = default;
Convolver& Convolver::operator=(Convolver&&) noexcept = default;

const Shape3& Convolver::input_shape() const {
    return impl_->resolved.input_shape;
}
const Shape3& Convolver::output_shape() const {
    return impl_->resolved.output_shape;
}
PixelType Convolver::natural_output_type() const {
    return impl_->natural_type();
}
double Convolver::kernel_sum() const {
    return impl_->resolved.kernel_sum;
}
Plan Convolver::plan() const {
    return impl_->runner()->plan().summary();
}

ExecutionReport Convolver::execute(const ConstImageView& input, const ImageView& output,
                                   const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    return timed([&] { return impl_->execute(input, output, context); });
}

ExecutionReport Convolver::execute(ImageSource& source, ImageSink& sink,
                                   const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    return timed([&] { return impl_->execute(source, sink, context); });
}

Volume convolve(const ConstImageView& image, const ConstImageView& kernel, const Options& options,
                const EngineChoice& engines) {
    const auto convolver =
        cached_convolver(image.shape, kernel, options, engines, image.type, PixelType::float32);
    Volume result(convolver->output_shape(), convolver->natural_output_type());
    convolver->execute(image, result.view());
    return result;
}

Convolver ConvolverFactory::make(const Shape3& image_shape, const ConstImageView& kernel,
                                 const Options& options, EngineList engines, PixelType image_type,
                                 PixelType output_type) {
    return Convolver(std::make_unique<Convolver::Impl>(
        image_shape, kernel, options, std::move(engines), image_type, output_type));
}

Convolver ConvolverFactory::make_steady(const Shape3& image_shape, const ConstImageView& kernel,
                                        const Options& options, const EngineChoice& engines,
                                        PixelType image_type, PixelType output_type) {
    auto impl =
        std::make_unique<Convolver::Impl>(image_shape, kernel, options, image_type, output_type);
    impl->choose_engines(engines);
    impl->resolved.problem.executions = 0;  // not known, so that preparation does not count
    impl->current_runner = impl->make_runner();
    keep_ffts(impl->engines);  // engines plan transforms when they prepare kernels
    return Convolver(std::move(impl));
}

}  // namespace convolume
