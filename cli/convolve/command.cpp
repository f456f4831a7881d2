// SPDX-License-Identifier: Apache-2.0
// The subcommand `convolve`: its options, the steps of a run and the report. Every channel at every
// time is convolved by the Convolver of its kernel.

#include <memory>
#include <string>
#include <utility>

#include "cli/app.hpp"
#include "cli/convolve/planned_shape.hpp"
#include "cli/files/gaussian_kernel.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_format.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

namespace {

/// A request to convolve images, as the command line gives it.
struct ConvolveRequest : ImageRequest {
    ConvolveRequest() { options.normalization = KernelNormalization::sum; }

    Options options;
    std::string output_type;  ///< name of a type, "same", or empty for the natural type
    bool scale_output = false;
};

const char* normalization_words(KernelNormalization normalization) {
    if (normalization == KernelNormalization::none) return "not normalized";
    return normalization == KernelNormalization::sum ? "normalized to sum 1"
                                                     : "normalized to peak 1";
}

void add_problem_options(CLI::App& app, ConvolveRequest& request) {
    Options& options = request.options;
    begin_group(app, groups::input);
    add_selection_options(app, request.selection);
    add_options(app, options, {"nan"});
    begin_group(app, groups::psf);
    add_gaussian_options(app, request.gaussian);
    add_channel_kernel_option(app, request);
    add_kernel_options(app, request.kernel_options);
    add_options(app, options, {"normalization"});
    begin_group(app, groups::method);
    add_options(app, options, {"mode", "boundary", "operation"});
}

void add_output_options(CLI::App& app, ConvolveRequest& request) {
    begin_group(app, groups::output);
    add_image_output_options(app, request.output, request.output_type, request.create,
                             "the precision's type");
    add_scale_output_option(app, request.scale_output);
    add_run_options(app, request.run);
}

/// Returns the index, in the image, of the result's first sample. The result of a bright pixel is
/// the kernel with its center at that pixel.
Index3 first_sample(const Shape3& kernel, const Index3& center, const Options& options) {
    Index3 first;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t last = kernel[axis] - 1;
        const bool flipped = options.operation == Operation::correlate;
        const index_t before = flipped ? last - center[axis] : center[axis];
        if (options.mode == Mode::full) first[axis] = -before;
        if (options.mode == Mode::valid) first[axis] = last - before;
        if (options.operation == Operation::adjoint) first[axis] = -first[axis];
    }
    return first;
}

/// Whether results may hold NaN.
bool makes_nonfinite(NanPolicy policy) {
    return policy == NanPolicy::propagate || policy == NanPolicy::missing;
}

class ConvolveSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Convolver>;

    explicit ConvolveSteps(const ConvolveRequest& request, std::shared_ptr<Kernels::Cache> cache =
                                                               std::make_shared<Kernels::Cache>())
        : ImageSteps(request), request_(request), kernels_(std::move(cache)) {
        allows_nonfinite_ = makes_nonfinite(request.options.nan);
        leaves_out_nonfinite_ = request.options.nan == NanPolicy::missing;
    }

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        KernelRoom room{host_limit_bytes(request_.options.max_host_bytes), {}};
        // Kernels are moved to the convolver, unless two plans may be made of them.
        if (const std::string folder = folder_of(request_.output);
            !request_.scale_output && !system::is_in_memory(folder))
            room.scratch_directory = folder;
        kernels_.load(request_, *reader_, std::move(room), context);
    }

    void plan(const ExecutionContext&) override {
        result_ = {.scaled = request_.scale_output,
                   .threads = thread_count(request_.engines.threads)};
        output_metadata_.type = resolve_output_type(
            result_.scaled ? scaled_output_type(request_.output_type, input_metadata_.type)
                           : request_.output_type,
            input_metadata_.type, kernels_.type(), request_.options.precision);
        result_.computed = output_metadata_.type;
        if (result_.scaled) {
            if (makes_nonfinite(request_.options.nan))
                throw InvalidArgument(
                    "--scale-output writes integers, which cannot be NaN; choose --nan error or "
                    "zero");
            result_.computed = request_.options.precision == Precision::float64
                                   ? PixelType::float64
                                   : PixelType::float32;
        }
        const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
        kernels_.plan([&](Kernels::Ready& kernel) {
            // With mode full, the result has the planes of the kernel too.
            if (request_.options.mode != Mode::full)
                warn_of_one_plane(kernel.file, input_metadata_, kernel.file.warnings);
            const index_t share = kernels_.share_of(limit);
            if (!result_.scaled)
                return make_convolver(kernel.file, std::move(kernel.file.values), kernel.volumes,
                                      share);
            std::optional<Convolver> convolver;
            kernel.intermediate_fits = plan_beside_intermediate(share, [&](index_t bytes) {
                convolver.emplace(
                    make_convolver(kernel.file, kernel.file.values.view(), kernel.volumes, bytes));
            });
            return std::move(*convolver);
        });
        const KernelFile& first_kernel = kernels_.of(0).file;
        io::move_planes(output_metadata_, kernels_.solver(0).output_shape(),
                        first_sample(first_kernel.shape, first_kernel.center, request_.options));
        for (const auto& kernel : kernels_.all())
            if (kernel->solver->output_shape() != output_metadata_.shape)
                throw InvalidArgument(
                    message("the result would be z,y,x ", to_string(output_metadata_.shape),
                            " for some channels and ", to_string(kernel->solver->output_shape()),
                            " for others, since their kernels differ in size; choose "
                            "--mode same"));
        result_.box_bytes = scaled_box_bytes(limit);
        result_.place =
            place_of_intermediate(StackFormat{output_metadata_.shape, result_.computed,
                                              input_metadata_.frames, input_metadata_.channels}
                                      .bytes(),
                                  limit, kernels_.intermediate_fits());
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        write(result_, context, [&](ImageSink& sink) {
            executed_ = with_places_in_file(
                *reader_, [&] { return convolve_channels(kernels_, *reader_, sink, context); });
            reader_->check_unchanged();
        });
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        const Console& console = facts.console;
        kernels_.tell_each(facts, [&](const Kernels::Ready& ready, auto& kernel, auto& plan) {
            const double sum = ready.solver->kernel_sum();
            const KernelNormalization normalization = request_.options.normalization;
            report_kernel(
                console, ready.file,
                message(", sum ", format_number(sum, 9), ", ", normalization_words(normalization)));
            report_shift(console, ready.file);
            console.warnings(input_warnings(ready.file.path, ready.file.metadata));
            kernel["sum"] = sum;
            kernel["normalize"] = to_string(normalization);
            plan = tell_plan_of(*ready.solver, console, request_.run);
        });
    }

  private:
    /// Plans a number of executions. `samples` are those of the kernel: a view, or a Volume whose
    /// memory the Convolver takes.
    template <class Samples>
    Convolver make_convolver(const KernelFile& kernel, Samples&& samples, index_t executions,
                             index_t max_host_bytes) const {
        Options options = request_.options;
        options.center = kernel.explicit_center();
        options.streamed = true;
        options.expected_executions = executions;
        options.scratch_directory = folder_of(request_.output);
        options.max_host_bytes = max_host_bytes;
        return Convolver(planned_image_shape(input_metadata_.shape, kernel.shape, options),
                         std::forward<Samples>(samples), options, request_.engines,
                         input_metadata_.type, result_.computed);
    }

    const ConvolveRequest request_;
    Kernels kernels_;
    ResultStorage result_;
};

}  // namespace

void add_convolve_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("convolve", "Convolve an image with a kernel");
    auto request = std::make_shared<ConvolveRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many, {"IMAGE", io::usual_image_endings() + "; one or many"},
                        {"KERNEL", "The kernel (PSF): one 3D stack of any format"});
    set_examples(*command, {"convolume convolve image.tif psf.tif -o blurred.tif",
                            "convolume convolve image.tif --sigma 200nm -o smooth.tif"});
    add_problem_options(*command, *request);
    add_convolution_options(*command, request->options, request->engines);
    add_output_options(*command, *request);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        divide_arguments(*command, *request, *many);
        action = [request, many] { run_images<ConvolveSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
