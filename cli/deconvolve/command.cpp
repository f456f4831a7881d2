// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/command.hpp"

#include <cmath>

#include "cli/deconvolve/psf_warnings.hpp"
#include "cli/files/image_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/host_memory.hpp"

namespace convolume::cli {

void DeconvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, context);
    if (is_complex(input_.type))
        throw BadData("the image is complex: give its intensity, which is real");
    output_ = input_;
    output_.scaling.reset();
    result_ = {.scaled = request_.scale_output};
    output_.type =
        resolve_output_type(result_.scaled ? scaled_output_type(request_.output_type, input_.type)
                                           : request_.output_type,
                            input_.type, PixelType::float32, Precision::float32);
    if (is_complex(output_.type))
        throw InvalidArgument(message("the result is real and is not written as ",
                                      to_string(output_.type), "; choose another --output-type"));
}

void DeconvolveSteps::plan(const ExecutionContext&) {
    const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
    kernels_.plan([&](Kernels::Ready& psf) {
        for (std::string& warning : psf_warnings(psf.file, input_))
            psf.file.warnings.push_back(std::move(warning));
        DeconvolveOptions options = request_.options;
        options.center = psf.file.explicit_center();
        options.max_host_bytes = kernels_.share_of(limit);
        const auto& size = input_.voxel_size_um;
        if (size[0] && size[1] && size[2]) options.voxel = {*size[0], *size[1], *size[2]};
        return Deconvolver(input_.shape, psf.file.values.view(), options, request_.engines);
    });
    plan_memory(limit);
}

/// What is left of the limit goes to the result that is to be scaled, then to the next and the last
/// volume.
void DeconvolveSteps::plan_memory(index_t limit) {
    result_.computed = result_.scaled ? PixelType::float32 : output_.type;
    result_.box_bytes = scaled_box_bytes(limit);
    const StackFormat result{output_.shape, result_.computed, output_.frames, output_.channels};
    // The plans count one input and one output each.
    index_t left = limit;
    for (const auto& psf : kernels_.all()) left -= psf->solver->plan().host_bytes;
    if (result_.scaled && bytes_of(result) <= left) {
        result_.place = ScratchImage::Place::memory;
        left -= bytes_of(result);
    }
    overlapped_ =
        bytes_of({input_.shape, input_.type}) + bytes_of({output_.shape, result_.computed}) <= left;
}

Work DeconvolveSteps::work() const {
    return {static_cast<double>(input_.frames * input_.channels) * request_.options.iterations *
            static_cast<double>(element_count(input_.shape))};
}

void DeconvolveSteps::execute(const Console& console, ProgressMeter& meter,
                              const ExecutionContext& context) {
    const auto on_iteration = [&](const Iteration& iteration) {
        const std::string text = iteration_text(iteration, request_.options.method);
        meter.note(text);
        if (!console.verbose()) return;
        meter.clear();
        console.text(text + "\n");
    };
    const auto restore = [&](const ConstImageView& input, const ImageView& output,
                             const ExecutionContext& volume_context) {
        pixels_->add(input);
        const index_t channel = static_cast<index_t>(volumes_.size()) % input_.channels;
        volumes_.push_back(
            kernels_.solver(channel).execute(input, output, volume_context, on_iteration));
    };
    std::optional<double> most;
    if (input_.microscope.significant_bits)
        most = std::ldexp(1.0, *input_.microscope.significant_bits) - 1;
    pixels_.emplace(request_.options.background, most);
    writer_ = write_result(
        request_.output, result_, request_.create, output_, context,
        [&](ImageSink& sink) { for_each_volume(*reader_, sink, overlapped_, context, restore); });
}

}  // namespace convolume::cli
