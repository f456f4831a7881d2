// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/command.hpp"

#include "cli/files/image_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/host_memory.hpp"

namespace convolume::cli {

void DeconvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    psf_ = load_kernel(request_.psf, input_, request_.psf_options, *context.timeline);
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
    DeconvolveOptions options = request_.options;
    options.center = psf_.explicit_center();
    const auto& size = input_.voxel_size_um;
    if (size[0] && size[1] && size[2]) options.voxel = {*size[0], *size[1], *size[2]};
    const index_t limit = host_limit_bytes(options.max_host_bytes);
    deconvolver_.emplace(input_.shape, psf_.values.view(), options, request_.engines);
    psf_.values = Volume();  // the deconvolver has its own
    // The plan counts one input and one output.
    const index_t second_pair =
        bytes_of({input_.shape, input_.type}) + bytes_of({output_.shape, output_.type});
    overlapped_ = deconvolver_->plan().host_bytes + second_pair <= limit;
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
    for_each_volume(
        *reader_, *writer_, output_, overlapped_, context,
        [&](const ConstImageView& input, const ImageView& output,
            const ExecutionContext& volume_context) {
            volumes_.push_back(deconvolver_->execute(input, output, volume_context, on_iteration));
        });
}

void DeconvolveSteps::commit() {
    writer_->commit();
}

}  // namespace convolume::cli
