// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include <chrono>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/rank1.hpp"
#include "core/stop_scope.hpp"
#include "engines/engines.hpp"
#include "volumes/convolver_factory.hpp"
#include "volumes/convolver_impl.hpp"
#include "volumes/fold.hpp"

namespace convolume {

namespace {

void check_memory(const ConstImageView& input, const ImageView& output) {
    if (input.data == nullptr || output.data == nullptr)
        throw InvalidArgument(message("the ", input.data == nullptr ? "input" : "output",
                                      " points to no memory (null): allocate it first"));
    if (overlap(input, output))
        throw InvalidArgument(
            "input and output overlap in memory: convolve into memory of its own");
}

}  // namespace

Convolver::Impl::Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
                      PixelType image_type, PixelType output_type)
    : options(opts), resolved(resolve_problem(image, taps, opts, image_type, output_type)) {
    resolved.problem.rank1_kernel =
        may_sum_in_space() && !resolved.problem.complex_data &&
        factor_rank1(resolved.taps->view(), options.precision).has_value();
}

Convolver::Impl::Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
                      EngineList engine_list, PixelType image_type, PixelType output_type)
    : Impl(image, taps, opts, image_type, output_type) {
    engines = std::move(engine_list);
    current_runner = make_runner();
}

Convolver::Impl::Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
                      const EngineChoice& choice, PixelType image_type, PixelType output_type)
    : Impl(image, taps, opts, image_type, output_type) {
    if (may_end_before_gpus_start(choice)) return;
    const double start_s = gpu_start_seconds();
    engines = make_engines(choice);
    if (engines.front()->info().is_gpu) resolved.problem.start_s = start_s;
    current_runner = make_runner();
}

// Where few executions are expected: plans them on the CPU, if it ends before a GPU could begin.
bool Convolver::Impl::may_end_before_gpus_start(const EngineChoice& choice) {
    const double start_s = gpu_start_seconds();
    if (choice.device != EngineChoice::Device::automatic || !options.expected_executions ||
        start_s == 0)
        return false;
    EngineChoice cpu = choice;
    cpu.device = EngineChoice::Device::cpu;
    engines = make_engines(cpu);
    try {
        current_runner = make_runner();
    } catch (const OutOfMemory&) {
        return false;  // GPUs may need less
    }
    return current_runner->plan().chosen.seconds <= start_s;
}

std::shared_ptr<const PlanRunner> Convolver::Impl::make_runner() const {
    throw_if_stopped();
    TaskPlan plan = make_plan(resolved.problem, options, engines);
    EngineList chosen;
    for (const int index : plan.engine_indices)
        chosen.push_back(engines[static_cast<std::size_t>(index)]);
    return std::make_shared<const PlanRunner>(std::move(plan), std::move(chosen), resolved.taps);
}

std::shared_ptr<const PlanRunner> Convolver::Impl::runner() const {
    const std::lock_guard lock(runner_mutex);
    return current_runner;
}

void Convolver::Impl::plan_again(const std::shared_ptr<const PlanRunner>& failed) const {
    const std::lock_guard lock(runner_mutex);
    if (current_runner != failed) return;  // another execution has done so
    failed->release();
    current_runner = make_runner();
}

bool Convolver::Impl::may_sum_in_space() const {
    return options.method == Method::direct ||
           (options.method == Method::automatic && options.parts == 0);
}

void Convolver::Impl::check_shapes_and_types(const Shape3& input, PixelType input_type,
                                             const Shape3& output, PixelType output_type) const {
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
    if (complex_data && !is_complex(output_type))
        throw InvalidArgument(message("the result is complex and cannot be stored as ",
                                      to_string(output_type), ": use complex64 or complex128"));
}

ExecutionReport Convolver::Impl::execute(const ConstImageView& input, const ImageView& output,
                                         const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    const auto start = std::chrono::steady_clock::now();
    check_shapes_and_types(input.shape, input.type, output.shape, output.type);
    check_memory(input, output);
    ExecutionReport report;
    if (!resolved.folds) {
        report = run_views(input, output, context);
    } else {
        Volume extended(resolved.problem.output.shape(), natural_type());
        report = run_views(input, extended.view(), context);
        const ClampCount clamped =
            fold(extended.view(), resolved.fold_sources, output, runner()->threads());
        report.clamped_low = clamped.low;
        report.clamped_high = clamped.high;
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

// `output` is that of the plan: before anything is folded.
ExecutionReport Convolver::Impl::run_views(const ConstImageView& input, const ImageView& output,
                                           const ExecutionContext& context) const {
    RunArguments arguments;
    arguments.input = input;
    arguments.output = output;
    arguments.subtract = resolved.subtract;
    arguments.add = resolved.add;
    return run_with_retries([&](const PlanRunner& current) {
        return current.plan().chosen.on_gpu ? run_on_gpu(current, arguments, context)
                                            : run_on_cpu(current, arguments, context);
    });
}

ExecutionReport Convolver::Impl::run_on_cpu(const PlanRunner& current, RunArguments& arguments,
                                            const ExecutionContext& context) const {
    const index_t found =
        may_hold_nonfinite(arguments.input.type) ? check_finite(arguments.input) : 0;
    arguments.nonfinite_to_zero = found > 0;
    ExecutionReport report = current.execute(arguments, context);
    report.nonfinite_inputs = found;
    return report;
}

// Devices look at every sample anyway: the host, whose memory is slower, only where they found
// something.
ExecutionReport Convolver::Impl::run_on_gpu(const PlanRunner& current, RunArguments& arguments,
                                            const ExecutionContext& context) const {
    arguments.find_nonfinite = may_hold_nonfinite(arguments.input.type);
    arguments.nonfinite_to_zero = arguments.find_nonfinite && options.nan == NanPolicy::zero;
    ExecutionReport report = current.execute(arguments, context);
    if (report.nonfinite_inputs > 0) report.nonfinite_inputs = check_finite(arguments.input);
    return report;
}

// Returns the samples to be read as 0.
index_t Convolver::Impl::check_finite(const ConstImageView& input) const {
    const auto found = pixels::find_nonfinite(input, runner()->threads());
    if (!found) return 0;
    if (options.nan == NanPolicy::error)
        throw NonfiniteSample(found->value, {.index = found->index}, cure_of_nonfinite);
    return pixels::count_nonfinite(input, runner()->threads());
}

Convolver::Convolver(const Shape3& image_shape, const ConstImageView& kernel,
                     const Options& options, const EngineChoice& engines, PixelType image_type,
                     PixelType output_type)
    : Convolver(
          std::make_unique<Impl>(image_shape, kernel, options, engines, image_type, output_type)) {}
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
    return impl_->resolved.kernel.sum;
}
Plan Convolver::plan() const {
    return impl_->runner()->plan().summary();
}

ExecutionReport Convolver::execute(const ConstImageView& input, const ImageView& output,
                                   const ExecutionContext& context) const {
    return impl_->execute(input, output, context);
}

ExecutionReport Convolver::execute(ImageSource& source, ImageSink& sink,
                                   const ExecutionContext& context) const {
    return impl_->execute(source, sink, context);
}

Volume convolve(const ConstImageView& image, const ConstImageView& kernel, const Options& options,
                const EngineChoice& engines) {
    const Convolver convolver(image.shape, kernel, options, engines, image.type);
    Volume result(convolver.output_shape(), convolver.natural_output_type());
    convolver.execute(image, result.view());
    return result;
}

Convolver ConvolverFactory::make(const Shape3& image_shape, const ConstImageView& kernel,
                                 const Options& options, EngineList engines, PixelType image_type,
                                 PixelType output_type) {
    return Convolver(std::make_unique<Convolver::Impl>(
        image_shape, kernel, options, std::move(engines), image_type, output_type));
}

}  // namespace convolume
