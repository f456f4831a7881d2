// SPDX-License-Identifier: Apache-2.0
#include "cli/convolve/command.hpp"

#include "cli/files/kernel_file.hpp"
#include "cli/images/channel_kernels.hpp"

namespace convolume::cli {

void ConvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, host_limit_bytes(request_.options.max_host_bytes), context);
}

void ConvolveSteps::plan(const ExecutionContext&) {
    output_ = input_;
    output_.images = 1;
    output_.scaling.reset();
    result_ = {.scaled = request_.scale_output};
    output_.type =
        resolve_output_type(result_.scaled ? scaled_output_type(request_.output_type, input_.type)
                                           : request_.output_type,
                            input_.type, kernels_.type(), request_.options.precision);
    result_.computed = output_.type;
    if (result_.scaled) {
        if (request_.options.nan == NanPolicy::propagate)
            throw InvalidArgument(
                "--scale-output writes integers, which cannot be NaN; choose --nan error or zero");
        result_.computed = request_.options.precision == Precision::float64 ? PixelType::float64
                                                                            : PixelType::float32;
    }
    const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
    kernels_.plan([&](Kernels::Ready& kernel) {
        // The full result has the kernel's planes.
        if (request_.options.mode != Mode::full)
            warn_of_one_plane(kernel.file, input_, kernel.file.warnings);
        const index_t share = kernels_.share_of(limit);
        if (!result_.scaled) return make_convolver(kernel, share);
        std::optional<Convolver> convolver;
        kernel.intermediate_fits = plan_beside_intermediate(
            share, [&](index_t bytes) { convolver.emplace(make_convolver(kernel, bytes)); });
        return std::move(*convolver);
    });
    output_.shape = kernels_.solver(0).output_shape();
    for (const auto& kernel : kernels_.all())
        if (kernel->solver->output_shape() != output_.shape)
            throw InvalidArgument(message("the result would be z,y,x ", to_string(output_.shape),
                                          " for some channels and ",
                                          to_string(kernel->solver->output_shape()),
                                          " for others, since their kernels differ in size; choose "
                                          "--mode same"));
    result_.box_bytes = scaled_box_bytes(limit);
    result_.place = place_of_intermediate(
        StackFormat{output_.shape, result_.computed, input_.frames, input_.channels}.bytes(), limit,
        kernels_.intermediate_fits());
}

Convolver ConvolveSteps::make_convolver(const Kernels::Ready& kernel,
                                        index_t max_host_bytes) const {
    Options options = request_.options;
    options.center = kernel.file.explicit_center();
    options.streamed = true;
    options.expected_executions = kernel.volumes;
    options.scratch_directory = folder_of(request_.output);
    options.max_host_bytes = max_host_bytes;
    return Convolver(planned_image_shape(input_.shape, kernel.file.shape, options),
                     kernel.file.values.view(), options, request_.engines, input_.type,
                     result_.computed);
}

WorkAmount ConvolveSteps::work() const {
    return {static_cast<double>(volumes()) * static_cast<double>(element_count(input_.shape))};
}

void ConvolveSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    auto [writer, nonfinite] = write_result(
        request_.output, result_, request_.create, output_, context, [&](ImageSink& sink) {
            executed_ = with_places_of_file(
                *reader_, [&] { return convolve_channels(kernels_, *reader_, sink, context); });
            reader_->check_unchanged();
        });
    writer_ = std::move(writer);
    nonfinite_ = nonfinite;
}

Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options) {
    if (options.operation != Operation::adjoint || options.mode == Mode::same) return input;
    Shape3 image;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t extra = kernel[axis] - 1;
        image[axis] =
            options.mode == Mode::full ? input[axis] - extra : checked_add(input[axis], extra);
        if (image[axis] < 1)
            throw InvalidArgument(
                message("the adjoint of mode full takes images at least as large "
                        "as the kernel, but along ",
                        axis_name(axis), " the image has ", input[axis], " and the kernel ",
                        kernel[axis], " samples; choose another --mode"));
    }
    return image;
}

}  // namespace convolume::cli
