// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/command.hpp"

#include "cli/files/image_output.hpp"
#include "cli/files/volumes.hpp"

namespace convolume::cli {

void DeconvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, *context.timeline);
    if (is_complex(input_.type))
        throw BadData("the image is complex: give its intensity, which is real");
    output_ = input_;
    output_.type = resolve_output_type(request_.output_type, input_.type, PixelType::float32,
                                       Precision::float32);
    if (is_complex(output_.type))
        throw InvalidArgument(message("the result is real and is not written as ",
                                      to_string(output_.type), "; choose another --output-type"));
}

void DeconvolveSteps::plan(const ExecutionContext&) {
    kernels_.plan([&](const Kernels::Ready& psf) {
        DeconvolveOptions options = request_.options;
        options.center = psf.file.explicit_center();
        const auto& size = input_.voxel_size_um;
        if (size[0] && size[1] && size[2]) options.voxel = {*size[0], *size[1], *size[2]};
        return Deconvolver(input_.shape, psf.file.values.view(), options, request_.engines);
    });
}

Work DeconvolveSteps::work() const {
    return {static_cast<double>(input_.frames * input_.channels) * request_.options.iterations *
            static_cast<double>(element_count(input_.shape))};
}

void DeconvolveSteps::execute(const Console& console, ProgressMeter& meter,
                              const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_, request_.create);
    const auto on_iteration = [&](const Iteration& iteration) {
        const std::string text = iteration_text(iteration, request_.options.method);
        meter.note(text);
        if (!console.verbose()) return;
        meter.clear();
        console.text(text + "\n");
    };
    for_each_volume(*reader_, *writer_, output_, HostMemory::ordinary, context,
                    [&](const ConstImageView& input, const ImageView& output,
                        const ExecutionContext& volume_context) {
                        const index_t channel =
                            static_cast<index_t>(volumes_.size()) % input_.channels;
                        volumes_.push_back(kernels_.solver(channel).execute(
                            input, output, volume_context, on_iteration));
                    });
}

}  // namespace convolume::cli
