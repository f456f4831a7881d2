// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/command.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "cli/deconvolve/psf_warnings.hpp"
#include "cli/files/image_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/host_memory.hpp"

namespace convolume::cli {

void DeconvolveSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, host_limit_bytes(request_.options.max_host_bytes), context);
    if (is_complex(input_.type))
        throw BadData("the image is complex: give its intensity, which is real");
    if (!request_.start.empty()) open_start();
    output_ = input_;
    output_.images = 1;
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

void DeconvolveSteps::open_start() {
    start_reader_ = io::open_image(request_.start);
    const io::ImageMetadata& start = start_reader_->metadata();
    const bool alike = start.frames == input_.frames && start.channels == input_.channels;
    if (start.shape != input_.shape || !(alike || start.frames * start.channels == 1))
        throw InvalidArgument(message(
            request_.start, " is ", to_string(start.shape), " (z×y×x) with ", start.channels,
            " channels and ", start.frames, " time points, but the image is ",
            to_string(input_.shape), " with ", input_.channels, " and ", input_.frames,
            ": --start takes an image of the same extents, or one volume for all"));
    start_ = Volume(start.shape, start.type);
}

ConstImageView DeconvolveSteps::start_of_next() {
    const auto number = static_cast<index_t>(volumes_.size());
    const auto channel = static_cast<std::size_t>(number % input_.channels);
    if (request_.warm_start && number >= input_.channels) return last_results_[channel].view();
    if (!start_reader_) return {};
    const io::ImageMetadata& start = start_reader_->metadata();
    const bool single = start.frames * start.channels == 1;
    if (!single || number == 0)
        start_reader_->read(single ? 0 : number / start.channels,
                            single ? 0 : number % start.channels, start_.view());
    return std::as_const(start_).view();
}

void DeconvolveSteps::plan(const ExecutionContext&) {
    const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
    kernels_.plan([&](Kernels::Ready& psf) {
        for (std::string& warning : psf_warnings(psf.file, input_))
            psf.file.warnings.push_back(std::move(warning));
        DeconvolveOptions options = request_.options;
        options.center = psf.file.explicit_center();
        options.max_host_bytes = kernels_.share_of(limit);
        options.image_type = input_.type;
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
    if (start_reader_) left -= start_.bytes();
    if (request_.dump_every > 0) left -= bytes_of({output_.shape, result_.computed});
    if (request_.warm_start) left -= input_.channels * bytes_of({output_.shape, result_.computed});
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
        DeconvolveRun run;
        run.start = start_of_next();
        run.reads_every = request_.dump_every;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
            on_iteration(iteration);
            if (!estimates_) return;
            const PhaseTimer timer(context.timeline, Phase::write);
            estimates_->take(static_cast<index_t>(volumes_.size()), iteration, read);
        };
        volumes_.push_back(kernels_.solver(channel).execute(input, output, run, volume_context));
        if (!request_.warm_start) return;
        last_results_.resize(static_cast<std::size_t>(input_.channels));
        Volume& last = last_results_[static_cast<std::size_t>(channel)];
        if (last.shape() != output.shape) last = Volume(output.shape, output.type);
        std::memcpy(last.view().data, output.data, static_cast<std::size_t>(last.bytes()));
    };
    std::optional<double> most;
    if (input_.microscope.significant_bits)
        most = std::ldexp(1.0, *input_.microscope.significant_bits) - 1;
    pixels_.emplace(request_.options.background, most);
    if (request_.dump_every > 0)
        estimates_.emplace(request_.dump_every, request_.options.iterations, request_.output,
                           output_, result_.computed, request_.create, request_.inputs());
    try {
        auto [writer, nonfinite] = write_result(
            request_.output, result_, request_.create, output_, context, [&](ImageSink& sink) {
                for_each_volume(*reader_, sink, overlapped_, context, restore);
            });
        writer_ = std::move(writer);
        nonfinite_ = nonfinite;
    } catch (const DeviceFailure&) {
        if (estimates_) estimates_->remove();  // the CPU may start again
        throw;
    }
}

}  // namespace convolume::cli
