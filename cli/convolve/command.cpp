// SPDX-License-Identifier: Apache-2.0
#include "cli/convolve/command.hpp"

#include "cli/files/image_output.hpp"

namespace convolume::cli {

void ConvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernel_ = load_kernel(request_.kernel, input_, request_.kernel_options, *context.timeline);
}

void ConvolveSteps::plan(const ExecutionContext&) {
    output_ = input_;
    output_.type = resolve_output_type(request_.output_type, input_.type, kernel_.metadata.type,
                                       request_.options.precision);
    Options options = request_.options;
    options.center = kernel_.explicit_center();
    options.streamed = true;
    options.expected_executions = volumes();
    options.scratch_directory = folder_of(request_.output);
    convolver_.emplace(planned_image_shape(input_.shape, kernel_.values.shape(), options),
                       kernel_.values.view(), options, request_.engines, input_.type, output_.type);
    output_.shape = convolver_->output_shape();
    kernel_.values = Volume();  // the convolver has its own
}

Work ConvolveSteps::work() const {
    return {static_cast<double>(volumes()) * static_cast<double>(element_count(input_.shape))};
}

void ConvolveSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    {
        const PhaseTimer timer(context.timeline, Phase::open);
        writer_ = io::create_image(request_.output, output_, request_.create);
    }
    executed_ = convolver_->execute(*reader_, *writer_, context);
    reader_->check_unchanged();
}

void ConvolveSteps::commit() {
    writer_->commit();
}

}  // namespace convolume::cli
