#include "convolume/convolver.hpp"

#include <chrono>
#include <cmath>
#include <mutex>

#include "convolume/error.hpp"
#include "convolume/rank1.hpp"
#include "fold.hpp"
#include "kernel.hpp"
#include "run.hpp"

namespace convolume {

namespace {

bool continues_outside(BoundaryKind boundary) {
    return boundary != BoundaryKind::zero && boundary != BoundaryKind::constant;
}

PixelType working_type(Precision precision, bool complex_data) {
    if (precision == Precision::float32)
        return complex_data ? PixelType::complex64 : PixelType::float32;
    return complex_data ? PixelType::complex128 : PixelType::float64;
}

// The adjoint of same: the outputs of a plain convolution of the convolve's output (extent
// out_end - out_begin) with the turned kernel, at positions i of the continued image. Sample
// i - out_begin + kernel - 1 of that `full` is Σ_n conj(h[n - i]) y[n].
OutputRange adjoint_range(const OutputRange& forward, index_t image, index_t kernel,
                          bool continued) {
    const index_t shift = kernel - 1 - forward.begin;
    if (continued) return {0, forward.end - forward.begin + kernel - 1};
    return {shift, image + shift};
}

}  // namespace

struct Convolver::Impl {
    Options options;
    KernelFacts kernel;
    Shape3 input_shape;
    Shape3 output_shape;
    /// Of a folding adjoint: source of every sample of the continued image.
    std::array<std::vector<index_t>, 3> fold_sources;
    bool folds = false;
    Problem problem;
    EngineList engines;  ///< all that may be used
    std::shared_ptr<const Volume> working_taps;
    mutable std::mutex runners_mutex;
    /// The last one is in use; the others' plans have been seen by callers.
    mutable std::vector<std::shared_ptr<const PlanRunner>> runners;

    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
         EngineList engine_list, PixelType image_type, PixelType output_type)
        : options(opts),
          kernel(examine_kernel(taps, opts.normalization)),
          engines(std::move(engine_list)) {
        for (int a = 0; a < 3; ++a)
            if (image[a] < 1)
                throw InvalidArgument(message("the image's extent along ", axis_name(a), " is ",
                                              image[a],
                                              ": it needs at least 1 sample on every axis"));
        if (!std::isfinite(options.boundary.value))
            throw InvalidArgument(message("the boundary's value is ", options.boundary.value,
                                          ": give a finite number"));
        const bool flips = options.operation != Operation::convolve;
        const bool adjoint = options.operation == Operation::adjoint;
        const bool continued = continues_outside(options.boundary.kind);
        Index3 center = center_index(options.center, taps.shape);
        if (options.operation == Operation::correlate)
            for (int a = 0; a < 3; ++a) center[a] = taps.shape[a] - 1 - center[a];

        problem.kernel = taps.shape;
        problem.image_type = image_type;
        problem.output_type = output_type;
        problem.complex_kernel = kernel.complex_taps;
        problem.complex_data = kernel.complex_taps || is_complex(image_type);
        problem.precision = options.precision;
        folds = adjoint && continued;
        for (int a = 0; a < 3; ++a) {
            const OutputRange forward =
                output_range(options.mode, image[a], taps.shape[a], center[a]);
            const OutputRange range =
                adjoint ? adjoint_range(forward, image[a], taps.shape[a], continued) : forward;
            problem.image[a] = adjoint ? forward.end - forward.begin : image[a];
            problem.output.begin[a] = range.begin;
            problem.output.end[a] = range.end;
            input_shape[a] = problem.image[a];
            output_shape[a] = adjoint ? image[a] : range.end - range.begin;
            if (!folds) continue;
            AxisWindow extended;
            extended.load_begin = forward.begin - (taps.shape[a] - 1);
            extended.load_end = forward.end;
            fold_sources[static_cast<std::size_t>(a)] =
                gather_indices(extended, image[a], options.boundary.kind);
        }
        problem.boundary = adjoint ? BoundaryKind::zero : options.boundary.kind;

        if (folds) {
            // What runs is a convolution into the continued image; the caller's output comes after.
            problem.output_type = working_type(options.precision, problem.complex_data);
            problem.other_host_bytes =
                checked_multiply(element_count(image), static_cast<index_t>(size_of(output_type)));
        }

        Box3 trimmed;
        for (int a = 0; a < 3; ++a) {
            const AxisWindow window = trim_kernel(problem.axis(a));
            trimmed.begin[a] = window.kernel_begin;
            trimmed.end[a] = window.kernel_end;
        }
        working_taps = std::make_shared<const Volume>(
            make_taps(taps, kernel, flips, trimmed,
                      working_type(options.precision, problem.complex_data)));
        // Kept for the engines.
        problem.other_host_bytes =
            checked_add(problem.other_host_bytes, Buffer::rounded_bytes(working_taps->bytes()));
        problem.rank1_kernel =
            may_sum_in_space() && !problem.complex_data &&
            decompose::factor_rank1(working_taps->view(), options.precision).has_value();
        runners.push_back(make_runner());
    }

    std::shared_ptr<const PlanRunner> make_runner() const {
        Plan plan = make_plan(problem, options, engines);
        EngineList chosen;
        for (const int index : plan.engine_indices)
            chosen.push_back(engines[static_cast<std::size_t>(index)]);
        return std::make_shared<const PlanRunner>(std::move(plan), std::move(chosen),
                                                  working_taps);
    }

    std::shared_ptr<const PlanRunner> runner() const {
        const std::lock_guard lock(runners_mutex);
        return runners.back();
    }

    // A device had less memory than was planned with, and knows so now: a smaller plan.
    void plan_again(const std::shared_ptr<const PlanRunner>& failed) const {
        const std::lock_guard lock(runners_mutex);
        if (runners.back() != failed) return;  // another execution has done so
        failed->release();
        runners.push_back(make_runner());
    }

    ExecutionReport run(const RunArguments& arguments, const ExecutionContext& context) const {
        constexpr int attempts = 4;
        for (int attempt = 1;; ++attempt) {
            const auto current = runner();
            try {
                return current->execute(arguments, context);
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

    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context) const {
        const auto start = std::chrono::steady_clock::now();
        check(input, output);
        RunArguments arguments{input, output};
        ExecutionReport report;
        if (options.nan != NanPolicy::propagate && !is_integer(input.type))
            report.nonfinite_inputs = check_finite(input);
        arguments.nonfinite_to_zero = report.nonfinite_inputs > 0;
        if (options.boundary.kind == BoundaryKind::constant &&
            options.operation != Operation::adjoint && options.mode != Mode::valid) {
            // f - v has a zero boundary, and the convolution of v is v Σh everywhere.
            arguments.subtract = options.boundary.value;
            const std::complex<double> sum = kernel.normalized_sum;
            arguments.add = options.boundary.value *
                            (options.operation == Operation::correlate ? std::conj(sum) : sum);
        }

        Volume extended;
        if (folds) {
            extended = Volume(runner()->plan().problem.output.shape(),
                              working_type(options.precision, runner()->plan().problem.complex_data));
            arguments.output = extended.view();
        }
        const ExecutionReport done = run(arguments, context);
        report.clamped_low = done.clamped_low;
        report.clamped_high = done.clamped_high;
        if (folds) {
            const decompose::ClampCount clamped =
                fold(extended.view(), fold_sources, output, runner()->threads());
            report.clamped_low = clamped.low;
            report.clamped_high = clamped.high;
        }
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    }

    void check(const ConstImageView& input, const ImageView& output) const {
        const auto expect = [](const char* what, const Shape3& found, const Shape3& wanted) {
            if (found != wanted)
                throw InvalidArgument(message("the ", what, " has the shape ", to_string(found),
                                              " (z×y×x), but this convolution was planned for ",
                                              to_string(wanted), ": plan another one"));
        };
        expect("input", input.shape, input_shape);
        expect("output", output.shape, output_shape);
        const bool complex_data = runner()->plan().problem.complex_data;
        if (is_complex(input.type) && !complex_data)
            throw InvalidArgument(
                "the input is complex, but this convolution was planned for real images: give the "
                "complex type when planning");
        if (complex_data && !is_complex(output.type))
            throw InvalidArgument(message("the result is complex and cannot be stored as ",
                                          name_of(output.type), ": use complex64 or complex128"));
    }

    // Returns the samples to be read as 0.
    index_t check_finite(const ConstImageView& input) const {
        const auto found = decompose::find_nonfinite(input, runner()->threads());
        if (!found) return 0;
        if (options.nan == NanPolicy::error)
            throw BadData(message(
                "the image holds ", found->value, " at z,y,x = ", to_string(found->index, ","),
                ": repair it, or choose to read such samples as zero or to propagate them"));
        return decompose::count_nonfinite(input, runner()->threads());
    }
};

Convolver::Convolver(const Shape3& image_shape, const ConstImageView& kernel,
                     const Options& options, EngineList engines, PixelType image_type,
                     PixelType output_type)
    : impl_(std::make_unique<Impl>(image_shape, kernel, options, std::move(engines), image_type,
                                   output_type)) {}
Convolver::~Convolver() = default;
Convolver::Convolver(Convolver&&) noexcept = default;
Convolver& Convolver::operator=(Convolver&&) noexcept = default;

const Shape3& Convolver::input_shape() const {
    return impl_->input_shape;
}
const Shape3& Convolver::output_shape() const {
    return impl_->output_shape;
}
PixelType Convolver::natural_output_type() const {
    return working_type(impl_->options.precision, plan().problem.complex_data);
}
double Convolver::kernel_sum() const {
    return impl_->kernel.sum;
}
const Plan& Convolver::plan() const {
    return impl_->runner()->plan();
}

ExecutionReport Convolver::execute(const ConstImageView& input, const ImageView& output,
                                   const ExecutionContext& context) const {
    return impl_->execute(input, output, context);
}

Volume convolve(const ConstImageView& image, const ConstImageView& kernel, const Options& options) {
    const Convolver convolver(image.shape, kernel, options, make_engines(), image.type);
    Volume result(convolver.output_shape(), convolver.natural_output_type());
    convolver.execute(image, result.view());
    return result;
}

}  // namespace convolume
