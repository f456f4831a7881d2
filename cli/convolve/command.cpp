// SPDX-License-Identifier: Apache-2.0
#include "cli/convolve/command.hpp"

#include "cli/files/image_output.hpp"
#include "cli/run/host_memory.hpp"

namespace convolume::cli {

void ConvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernel_ = load_kernel(request_.kernel, input_, request_.kernel_options, *context.timeline);
}

void ConvolveSteps::plan(const ExecutionContext&) {
    output_ = input_;
    output_.scaling.reset();
    result_ = {.scaled = request_.scale_output};
    output_.type =
        resolve_output_type(result_.scaled ? scaled_output_type(request_.output_type, input_.type)
                                           : request_.output_type,
                            input_.type, kernel_.metadata.type, request_.options.precision);
    result_.computed = output_.type;
    Options options = request_.options;
    options.center = kernel_.explicit_center();
    options.streamed = true;
    options.expected_executions = volumes();
    options.scratch_directory = folder_of(request_.output);
    make_convolver(options);
    output_.shape = convolver_->output_shape();
    kernel_.values = Volume();  // the convolver has its own
}

void ConvolveSteps::make_convolver(const Options& asked) {
    Options options = asked;
    const Shape3 image = planned_image_shape(input_.shape, kernel_.values.shape(), options);
    const auto plan_within = [&](const std::optional<index_t>& limit) {
        options.max_host_bytes = limit;
        convolver_.emplace(image, kernel_.values.view(), options, request_.engines, input_.type,
                           result_.computed);
    };
    if (!result_.scaled) {
        plan_within(asked.max_host_bytes);
        return;
    }
    if (options.nan == NanPolicy::propagate)
        throw InvalidArgument(
            "--scale-output writes integers, which cannot be NaN; choose --nan error or zero");
    result_.computed =
        options.precision == Precision::float64 ? PixelType::float64 : PixelType::float32;
    Shape3 largest = image;
    for (int axis = 0; axis < 3; ++axis)
        largest[axis] = checked_add(largest[axis], kernel_.values.shape()[axis] - 1);
    const index_t limit = host_limit_bytes(asked.max_host_bytes);
    result_.box_bytes = scaled_box_bytes(limit);
    result_.place =
        plan_beside(bytes_of({largest, result_.computed, input_.frames, input_.channels}),
                    asked.max_host_bytes, plan_within);
}

Work ConvolveSteps::work() const {
    return {static_cast<double>(volumes()) * static_cast<double>(element_count(input_.shape))};
}

void ConvolveSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = write_result(request_.output, result_, request_.create, output_, context,
                           [&](ImageSink& sink) {
                               executed_ = convolver_->execute(*reader_, sink, context);
                               reader_->check_unchanged();
                           });
}

void ConvolveSteps::commit() {
    writer_->commit();
}

}  // namespace convolume::cli
