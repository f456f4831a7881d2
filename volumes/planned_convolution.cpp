// SPDX-License-Identifier: Apache-2.0
#include "volumes/planned_convolution.hpp"

#include <algorithm>

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
#include "volumes/missing_samples.hpp"
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

PlannedConvolution::PlannedConvolution(const Shape3& image, const ConstImageView& taps,
                                       const Options& options, const Types& types, Volume* given_up)
    : image_(image),
      options_(options),
      types_(types),
      resolved_(resolve_problem(image, taps, options, types.image, types.output, given_up)) {
    resolved_.problem.rank1_kernel =
        may_sum_in_space() && !resolved_.problem.complex_data &&
        factor_rank1(resolved_.taps->view(), options_.precision, resolved_.peak).has_value();
}

PlannedConvolution::PlannedConvolution(const Shape3& image, const ConstImageView& taps,
                                       const Options& options, EngineList engines,
                                       PixelType image_type, PixelType output_type)
    : PlannedConvolution(image, taps, options, {taps.type, image_type, output_type}, nullptr) {
    engines_ = std::move(engines);
    current_runner_ = make_runner();
}

PlannedConvolution::PlannedConvolution(const Shape3& image, const ConstImageView& taps,
                                       const Options& options, const EngineChoice& choice,
                                       PixelType image_type, PixelType output_type,
                                       Volume* given_up)
    : PlannedConvolution(image, taps, options, {taps.type, image_type, output_type}, given_up) {
    choose_engines(choice);
    if (!current_runner_) current_runner_ = make_runner();
}

std::unique_ptr<PlannedConvolution> PlannedConvolution::steady(
    const Shape3& image, const ConstImageView& taps, const Options& options,
    const EngineChoice& choice, PixelType image_type, PixelType output_type) {
    std::unique_ptr<PlannedConvolution> made(new PlannedConvolution(
        image, taps, options, Types{taps.type, image_type, output_type}, nullptr));
    made->choose_engines(choice);
    made->resolved_.problem.executions = 0;  // not known, so that preparation does not count
    made->current_runner_ = made->make_runner();
    keep_ffts(made->engines_);  // engines plan transforms when they prepare kernels
    return made;
}

std::unique_ptr<PlannedConvolution> PlannedConvolution::with_kernel(
    const ConstImageView& taps) const {
    const ConvolutionProblem& planned = resolved_.problem;
    if (taps.shape != planned.kernel || taps.type != types_.kernel)
        throw InvalidArgument(message(
            "the new kernel is ", to_string(taps.shape), " (z×y×x) of ", to_string(taps.type),
            ", and the convolution was planned for ", to_string(planned.kernel), " of ",
            to_string(types_.kernel), ": give one of the same extents and type"));
    std::unique_ptr<PlannedConvolution> made(
        new PlannedConvolution(image_, taps, options_, types_, nullptr));
    ConvolutionProblem& problem = made->resolved_.problem;
    if (problem.output != planned.output)
        throw InvalidArgument(
            "the samples of the new kernel have their center elsewhere than those of the kernel "
            "before: give the center as an index when planning");
    problem.executions = planned.executions;
    problem.start_s = planned.start_s;
    made->engines_ = engines_;
    const bool plan_differs = problem.rank1_kernel != planned.rank1_kernel &&
                              engines_.front()->supports(Algorithm::separable);
    made->current_runner_ =
        plan_differs ? made->make_runner() : runner()->with_taps(made->resolved_.taps);
    return made;
}

void PlannedConvolution::choose_engines(const EngineChoice& choice) {
    if (may_end_before_gpus_start(choice)) return;
    const double start_s = gpu_start_seconds(choice);
    engines_ = with_joined_gpus(make_engines(choice));
    if (engines_.front()->info().is_gpu) resolved_.problem.start_s = start_s;
    current_runner_.reset();
}

bool PlannedConvolution::may_end_before_gpus_start(const EngineChoice& choice) {
    const double start_s = gpu_start_seconds(choice);
    if (choice.device != EngineChoice::Device::automatic || !options_.expected_executions ||
        start_s == 0)
        return false;
    EngineChoice cpu = choice;
    cpu.device = EngineChoice::Device::cpu;
    engines_ = make_engines(cpu);
    try {
        current_runner_ = make_runner();
    } catch (const OutOfMemory&) {
        return false;  // GPUs may need less memory
    }
    return current_runner_->plan().chosen.seconds <= start_s;
}

std::shared_ptr<const PlanRunner> PlannedConvolution::make_runner() const {
    throw_if_stopped();
    TaskPlan plan = make_plan(resolved_.problem, options_, engines_);
    EngineList chosen;
    for (const int index : plan.engine_indices)
        chosen.push_back(engines_[static_cast<std::size_t>(index)]);
    return std::make_shared<const PlanRunner>(std::move(plan), std::move(chosen), resolved_.taps,
                                              options_.scratch_directory);
}

std::shared_ptr<const PlanRunner> PlannedConvolution::runner() const {
    const std::lock_guard lock(runner_mutex_);
    return current_runner_;
}

void PlannedConvolution::plan_again(const std::shared_ptr<const PlanRunner>& failed) const {
    const std::lock_guard lock(runner_mutex_);
    if (current_runner_ != failed) return;  // another execution has made a new plan
    failed->release();
    current_runner_ = make_runner();
}

template <class Run>
ExecutionReport PlannedConvolution::run_with_retries(const Run& run) const {
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

bool PlannedConvolution::may_sum_in_space() const {
    return options_.method == Method::direct ||
           (options_.method == Method::automatic && options_.parts == 0);
}

bool PlannedConvolution::may_hold_nonfinite(PixelType type) const {
    return options_.nan != NanPolicy::propagate && !is_integer(type);
}

void PlannedConvolution::check_shapes_and_types(const Shape3& input, PixelType input_type,
                                                const Shape3& output, PixelType output_type) const {
    const auto expect = [](const char* what, const Shape3& found, const Shape3& wanted) {
        if (found != wanted)
            throw InvalidArgument(message("the ", what, " has the shape ", to_string(found),
                                          " (z×y×x), but this convolution was planned for ",
                                          to_string(wanted), ": plan another one"));
    };
    expect("input", input, resolved_.input_shape);
    expect("output", output, resolved_.output_shape);
    const bool complex_data = resolved_.problem.complex_data;
    if (is_complex(input_type) && !complex_data)
        throw InvalidArgument(
            "the input is complex, but this convolution was planned for real images: give the "
            "complex type when planning");
    check_result_type(complex_data, output_type);
}

ExecutionReport PlannedConvolution::execute(const ConstImageView& input, const ImageView& output,
                                            const ExecutionContext& context) const {
    check_shapes_and_types(input.shape, input.type, output.shape, output.type);
    check_memory(input.data, "input", output.data, "output");
    if (overlap(input, output))
        throw InvalidArgument(
            "input and output overlap in memory: convolve into memory of its own");
    if (may_repeat_elements(output))
        throw InvalidArgument(
            "samples of the output are in the same memory: give strides that keep them apart");
    if (resolved_.weight && !is_integer(input.type) &&
        pixels::find_nonfinite(input, runner()->threads()))
        return run_without_missing(input, output, context);
    if (!resolved_.folds) return run_views(input, output, context);
    Volume extended(resolved_.problem.output.shape(), natural_type());
    ExecutionReport report = run_views(input, extended.view(), context);
    const ClampCount clamped =
        fold(extended.view(), resolved_.fold_sources, output, runner()->threads());
    report.clamped_low = clamped.low;
    report.clamped_high = clamped.high;
    return report;
}

ExecutionArguments PlannedConvolution::arguments_of(bool is_mask) const {
    ExecutionArguments arguments;
    arguments.subtract = is_mask ? resolved_.subtract_of_ones : resolved_.subtract;
    arguments.add = is_mask ? resolved_.add_of_ones : resolved_.add;
    return arguments;
}

ExecutionReport PlannedConvolution::run_without_missing(const ConstImageView& input,
                                                        const ImageView& output,
                                                        const ExecutionContext& context) const {
    const int threads = runner()->threads();
    Volume sums(output.shape, natural_type()), weights(output.shape, natural_type());
    ExecutionReport report = run_views(input, sums.view(), context);
    const Volume mask = finite_mask(input, threads);
    run_views(mask.view(), weights.view(), without_progress(context), true);
    const ClampCount clamped =
        resolved_.weight->divide(sums.view(), weights.view(), output, threads);
    report.clamped_low = clamped.low;
    report.clamped_high = clamped.high;
    return report;
}

ExecutionReport PlannedConvolution::run_views(const ConstImageView& input, const ImageView& output,
                                              const ExecutionContext& context, bool is_mask) const {
    ExecutionArguments arguments = arguments_of(is_mask);
    arguments.input = input;
    arguments.output = output;
    return run_with_retries([&](const PlanRunner& current) {
        return current.plan().chosen.on_gpu ? run_on_gpu(current, arguments, context)
                                            : run_on_cpu(current, arguments, context);
    });
}

ExecutionReport PlannedConvolution::run_on_cpu(const PlanRunner& current,
                                               ExecutionArguments& arguments,
                                               const ExecutionContext& context) const {
    const index_t found =
        may_hold_nonfinite(arguments.input.type) ? check_finite(arguments.input) : 0;
    arguments.nonfinite_to_zero = found > 0;
    ExecutionReport report = current.execute(arguments, context);
    report.nonfinite_inputs = found;
    return report;
}

ExecutionReport PlannedConvolution::run_on_gpu(const PlanRunner& current,
                                               ExecutionArguments& arguments,
                                               const ExecutionContext& context) const {
    arguments.find_nonfinite = may_hold_nonfinite(arguments.input.type);
    arguments.nonfinite_to_zero = arguments.find_nonfinite && options_.nan != NanPolicy::error;
    ExecutionReport report = current.execute(arguments, context);
    if (report.nonfinite_inputs > 0) report.nonfinite_inputs = check_finite(arguments.input);
    return report;
}

index_t PlannedConvolution::check_finite(const ConstImageView& input) const {
    const auto found = pixels::find_nonfinite(input, runner()->threads());
    if (!found) return 0;
    if (options_.nan == NanPolicy::error)
        throw NonfiniteSample(found->value, {.index = found->index}, cure_of_nonfinite);
    return pixels::count_nonfinite(input, runner()->threads());
}

ExecutionReport PlannedConvolution::execute(ImageSource& source, ImageSink& sink,
                                            const ExecutionContext& context) const {
    const StackFormat from = source.format(), to = sink.format();
    check_shapes_and_types(from.shape, from.type, to.shape, to.type);
    if (from.frames != to.frames || from.channels != to.channels)
        throw InvalidArgument(message("the source has ", from.frames, " times and ", from.channels,
                                      " channels, the sink ", to.frames, " and ", to.channels,
                                      ": give a sink of as many"));
    if (resolved_.weight && !is_integer(from.type))
        return stream_without_missing(source, sink, context);
    return resolved_.folds ? run_folded(source, sink, context) : run_stream(source, sink, context);
}

ExecutionReport PlannedConvolution::run_stream(ImageSource& source, ImageSink& sink,
                                               const ExecutionContext& context,
                                               bool is_mask) const {
    StreamedImage stream{&source, &sink};
    ExecutionArguments arguments = arguments_of(is_mask);
    arguments.stream = &stream;
    arguments.find_nonfinite = may_hold_nonfinite(source.format().type);
    arguments.nonfinite_to_zero = arguments.find_nonfinite && options_.nan != NanPolicy::error;
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

ExecutionReport PlannedConvolution::stream_without_missing(ImageSource& source, ImageSink& sink,
                                                           const ExecutionContext& context) const {
    return for_each_volume(
        source.format(), context, [&](index_t t, index_t c, const ExecutionContext& part) {
            SourceChannel input(source, c, t);
            SinkChannel output(sink, c, t);
            const Shape3& shape = resolved_.output_shape;
            ScratchVolume sums(options_.scratch_directory, shape, natural_type());
            ScratchVolume weights(options_.scratch_directory, shape, natural_type());
            ExecutionReport report = run_stream(input, sums, part);
            const int threads = runner()->threads();
            FiniteMask mask(input, threads);
            run_stream(mask, weights, without_progress(part), true);
            const index_t at_once = planes_in_group(shape, natural_type());
            ClampCount clamped;
            for (index_t z = 0; z < shape.z; z += at_once) {
                throw_if_stopped(context);
                const Box3 box{{z, 0, 0}, {std::min(z + at_once, shape.z), shape.y, shape.x}};
                Volume dividend(box.shape(), natural_type()), divisor(box.shape(), natural_type());
                Volume planes(box.shape(), sink.format().type);
                sums.read_box(0, 0, box, dividend.view());
                weights.read_box(0, 0, box, divisor.view());
                clamped += resolved_.weight->divide(dividend.view(), divisor.view(), planes.view(),
                                                    threads);
                output.write_box(0, 0, box, planes.view());
            }
            report.clamped_low = clamped.low;
            report.clamped_high = clamped.high;
            return report;
        });
}

ExecutionReport PlannedConvolution::run_folded(ImageSource& source, ImageSink& sink,
                                               const ExecutionContext& context) const {
    return for_each_volume(
        source.format(), context, [&](index_t t, index_t c, const ExecutionContext& part) {
            SourceChannel input(source, c, t);
            SinkChannel output(sink, c, t);
            ScratchVolume extended(options_.scratch_directory, resolved_.problem.output.shape(),
                                   natural_type());
            ExecutionReport report;
            try {
                report = run_stream(input, extended, part);
            } catch (const NonfiniteSample& error) {
                throw error.at({error.place().index, t, c, source.format().volumes() > 1});
            }
            const ClampCount clamped =
                fold_planes(extended, resolved_.fold_sources, output, runner()->threads(), part);
            report.clamped_low = clamped.low;
            report.clamped_high = clamped.high;
            return report;
        });
}

index_t PlannedConvolution::check_finite(ImageSource& source,
                                         const ExecutionContext& context) const {
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
                if (options_.nan == NanPolicy::error) {
                    const Index3 at{z + found->index.z, found->index.y, found->index.x};
                    throw NonfiniteSample(found->value, {at, t, c, format.volumes() > 1},
                                          cure_of_nonfinite);
                }
                count += pixels::count_nonfinite(planes.view(), runner()->threads());
            }
    return count;
}

}  // namespace convolume
