// SPDX-License-Identifier: Apache-2.0
#include "cli/convolve/command.hpp"

#include "cli/files/image_output.hpp"
#include "cli/images/one_channel.hpp"

namespace convolume::cli {

void ConvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, *context.timeline);
}

void ConvolveSteps::plan(const ExecutionContext&) {
    output_ = input_;
    output_.type = resolve_output_type(request_.output_type, input_.type, kernels_.type(),
                                       request_.options.precision);
    kernels_.plan([&](const Kernels::Ready& kernel) {
        Options options = request_.options;
        options.center = kernel.file.explicit_center();
        options.streamed = true;
        options.expected_executions = kernel.volumes;
        options.scratch_directory = folder_of(request_.output);
        return Convolver(planned_image_shape(input_.shape, kernel.file.shape, options),
                         kernel.file.values.view(), options, request_.engines, input_.type,
                         output_.type);
    });
    output_.shape = kernels_.solver(0).output_shape();
    for (const auto& kernel : kernels_.all())
        if (kernel->solver->output_shape() != output_.shape)
            throw InvalidArgument(message("the result would be z,y,x ", to_string(output_.shape),
                                          " for some channels and ",
                                          to_string(kernel->solver->output_shape()),
                                          " for others, since their kernels differ in size; choose "
                                          "--mode same"));
}

Work ConvolveSteps::work() const {
    return {static_cast<double>(volumes()) * static_cast<double>(element_count(input_.shape))};
}

void ConvolveSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_, request_.create);
    if (kernels_.all().size() == 1)
        executed_ = kernels_.solver(0).execute(*reader_, *writer_, context);
    else
        execute_each_channel(context);
    reader_->check_unchanged();
}

void ConvolveSteps::execute_each_channel(const ExecutionContext& context) {
    for (index_t c = 0; c < input_.channels; ++c) {
        SourceChannel source(*reader_, c);
        SinkChannel sink(*writer_, c);
        try {
            executed_ +=
                kernels_.solver(c).execute(source, sink, part_of(context, c, input_.channels));
        } catch (const BadData& error) {
            throw BadData(message("channel ", c, " (from 0): ", error.what()));
        }
    }
}

}  // namespace convolume::cli
