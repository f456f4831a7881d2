// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/command.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/files/volumes.hpp"
#include "cli/images/file_names.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/execution.hpp"
#include "operations/warnings/images.hpp"
#include "operations/warnings/psf.hpp"

namespace convolume::cli {

namespace {

std::string zero_padded(index_t number, index_t last, std::size_t least_digits) {
    std::string text = std::to_string(number);
    const std::size_t digits = std::max(std::to_string(last).size(), least_digits);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
}

/// A source that shows its samples to a check, each once. One thread reads planes in their order;
/// what it reads again, for a search or an uncertainty, is not checked again.
template <class Check>
class CheckedSource : public ImageSource {
  public:
    CheckedSource(ImageSource& source, const Check& check) : source_(source), check_(check) {}
    StackFormat format() const override { return source_.format(); }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        source_.read_box(t, c, box, target);
        if (box.begin.z != checked_planes_) return;
        checked_planes_ = box.end.z;
        check_(target);
    }

  private:
    ImageSource& source_;
    Check check_;
    index_t checked_planes_ = 0;
};

/// A sink that shows its samples to a check.
class CheckedSink : public ImageSink {
  public:
    CheckedSink(ImageSink& sink, LightCheck& light) : sink_(sink), light_(light) {}
    StackFormat format() const override { return sink_.format(); }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        light_.add_result(source);
        sink_.write_box(t, c, box, source);
    }

  private:
    ImageSink& sink_;
    LightCheck& light_;
};

/// A sink that also keeps its samples in memory.
class KeepingSink : public ImageSink {
  public:
    KeepingSink(ImageSink& sink, const ImageView& kept) : sink_(sink), kept_(kept) {}
    StackFormat format() const override { return sink_.format(); }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        kept_.write_box(0, 0, box, source);
        sink_.write_box(t, c, box, source);
    }

  private:
    ImageSink& sink_;
    ViewSink kept_;
};

}  // namespace

void DeconvolveSteps::open(const ExecutionContext& context) {
    ImageSteps::open(context);
    options_ = resolved(request_.options, input_metadata_.shape.z);
    kernels_.load(request_, *reader_, {host_limit_bytes(request_.options.max_host_bytes), {}},
                  context);
    check_real(input_metadata_.type, "the image");
    if (!request_.start.empty()) open_initial_image();
    result_ = {.scaled = request_.scale_output, .threads = thread_count(request_.engines.threads)};
    output_metadata_.type = resolve_output_type(
        result_.scaled ? scaled_output_type(request_.output_type, input_metadata_.type)
                       : request_.output_type,
        input_metadata_.type, PixelType::float32, Precision::float32);
    if (is_complex(output_metadata_.type))
        throw InvalidArgument(message("the result is real and is not written as ",
                                      to_string(output_metadata_.type),
                                      "; choose another --output-type"));
}

void DeconvolveSteps::open_initial_image() {
    initial_image_reader_ = io::open_image(request_.start);
    const io::ImageMetadata& start = initial_image_reader_->metadata();
    const bool same_extents =
        start.frames == input_metadata_.frames && start.channels == input_metadata_.channels;
    if (start.shape != input_metadata_.shape ||
        !(same_extents || start.frames * start.channels == 1))
        throw InvalidArgument(
            message(request_.start, " is ", to_string(start.shape), " (z×y×x) with ",
                    start.channels, " channels and ", start.frames,
                    " time points, but the image is ", to_string(input_metadata_.shape), " with ",
                    input_metadata_.channels, " and ", input_metadata_.frames,
                    ": --start takes an image of the same extents, or one volume for all"));
    initial_volume_ = Volume(start.shape, start.type);
}

ConstImageView DeconvolveSteps::next_initial_estimate() {
    const auto number = static_cast<index_t>(volumes_.size());
    const auto channel = static_cast<std::size_t>(number % input_metadata_.channels);
    if (request_.warm_start && number >= input_metadata_.channels)
        return last_results_[channel].view();
    if (!initial_image_reader_) return {};
    const io::ImageMetadata& start = initial_image_reader_->metadata();
    const bool single = start.frames * start.channels == 1;
    if (!single || number == 0)
        initial_image_reader_->read(single ? 0 : number / start.channels,
                                    single ? 0 : number % start.channels, initial_volume_.view());
    return std::as_const(initial_volume_).view();
}

ImageView DeconvolveSteps::last_result(index_t channel, const StackFormat& format) {
    last_results_.resize(static_cast<std::size_t>(input_metadata_.channels));
    Volume& last = last_results_[static_cast<std::size_t>(channel)];
    if (last.shape() != format.shape) last = Volume(format.shape, format.type);
    return last.view();
}

namespace {

// Adds what is doubtful about a PSF for an image.
void add_warnings(const io::ImageMetadata& image, KernelFile& psf) {
    PsfUse use{psf.values.view(), psf.center};
    use.center_is_given = psf.options.center.kind != KernelCenter::Kind::middle;
    use.is_in_fft_order = psf.wrapped.any();
    use.name = name_of(psf);
    use.made = psf.made ? &*psf.made : nullptr;
    for (const Sentence& warning : psf_warnings(use, image.shape))
        psf.warnings.push_back(in_words_of_command(warning));
    if (const auto warning =
            voxel_warning(image.voxel_size_um, image.shape, psf.metadata.voxel_size_um,
                          psf.metadata.shape, use.name))
        psf.warnings.push_back(in_words_of_command(*warning));
}

}  // namespace

void DeconvolveSteps::plan(const ExecutionContext& context) {
    // A dry run reads no pixels.
    if (!request_.run.dry_run) find_missing(context);
    if (!request_.run.dry_run && request_.finds_bleaching) find_bleachings(context);
    if (!request_.run.dry_run) use_findings(context);
    if (!request_.run.dry_run && request_.refines_psf) refine_psfs(context);
    const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
    kernels_.plan([&](Kernels::Ready& psf) {
        add_warnings(input_metadata_, psf.file);
        for (KernelFile& deeper : psf.file.deeper) add_warnings(input_metadata_, deeper);
        DeconvolveOptions options = options_;
        options.center = psf.file.explicit_center();
        options.max_host_bytes = kernels_.share_of(limit);
        const bool is_marked = has_missing() || !bleachings_.empty();
        options.image_type = is_marked ? PixelType::float32 : input_metadata_.type;
        options.streamed = true;
        const auto& size = input_metadata_.voxel_size_um;
        if (size[0] && size[1] && size[2]) options.voxel = {*size[0], *size[1], *size[2]};
        if (psf.file.deeper.empty())
            return Deconvolver(input_metadata_.shape, psf.file.values.view(), options,
                               request_.engines);
        if (!size[0])
            throw InvalidArgument(message("the PSFs are of depths, and \"", request_.image,
                                          "\" does not say the distance of its planes; add "
                                          "--voxel"));
        options.voxel.z_um = *size[0];
        std::vector<DepthPsf> psfs{
            {psf.file.values.view(), psf.file.depth_um, psf.file.explicit_center()}};
        for (const KernelFile& deeper : psf.file.deeper)
            psfs.push_back({deeper.values.view(), deeper.depth_um, deeper.explicit_center()});
        return Deconvolver(input_metadata_.shape, psfs, options, request_.engines);
    });
    plan_memory(limit);
}

/// Divides the memory limit. The memory beside the plans goes to the result that is to be scaled,
/// then to the volumes that are read ahead and written behind.
void DeconvolveSteps::plan_memory(index_t limit) {
    result_.computed = result_.scaled ? PixelType::float32 : output_metadata_.type;
    result_.box_bytes = scaled_box_bytes(limit);
    const StackFormat result{output_metadata_.shape, result_.computed, output_metadata_.frames,
                             output_metadata_.channels};
    const index_t volume_bytes = StackFormat{output_metadata_.shape, result_.computed}.bytes();
    index_t left = limit;
    for (const auto& psf : kernels_.all()) left -= psf->solver->plan().host_bytes;
    if (result_.scaled && result.bytes() <= left) {
        result_.place = ScratchImage::Place::memory;
        left -= result.bytes();
    }
    if (initial_image_reader_) left -= initial_volume_.bytes();
    if (request_.dump_every > 0) left -= volume_bytes;
    if (request_.warm_start) left -= input_metadata_.channels * volume_bytes;
    const index_t input_bytes = StackFormat{input_metadata_.shape, input_metadata_.type}.bytes();
    overlapped_ = 2 * checked_add(input_bytes, volume_bytes) <= left;
}

WorkAmount DeconvolveSteps::work() const {
    const int runs = 1 + 2 * request_.options.splits;
    return {ImageSteps::work().amount * *options_.iterations * runs};
}

void DeconvolveSteps::execute(const Console& console, ProgressMeter& meter,
                              const ExecutionContext& context) {
    const auto on_iteration = [&](const Iteration& iteration) {
        const std::string text = iteration_text(iteration, request_.options);
        meter.note(text);
        if (!console.verbose()) return;
        meter.clear();
        console.text(text + "\n");
    };
    const VolumeStep restore = [&](ImageSource& input, ImageSink& output,
                                   const ExecutionContext& volume_context) {
        const auto number = static_cast<index_t>(volumes_.size());
        const index_t channel = number % input_metadata_.channels;
        DeconvolveRun run;
        std::optional<SinkChannel> uncertainty;
        if (second_writer_)
            run.uncertainty =
                &uncertainty.emplace(*second_writer_, channel, number / input_metadata_.channels);
        run.start = next_initial_estimate();
        run.pixel_weights = std::as_const(pixel_weights_).view();
        run.reads_every = request_.dump_every;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
            on_iteration(iteration);
            if (!estimates_) return;
            const PhaseTimer timer(context.timeline, Phase::write);
            estimates_->write_if_due(number, iteration, read);
        };
        std::optional<MarkedSource> marked;
        if (has_missing()) marked.emplace(input, missing_[static_cast<std::size_t>(number)]);
        ImageSource& recorded = marked ? static_cast<ImageSource&>(*marked) : input;
        std::optional<UnbleachedVolume> unbleached;
        if (!bleachings_.empty())
            unbleached.emplace(recorded, bleachings_[static_cast<std::size_t>(channel)],
                               number / input_metadata_.channels, saturation_);
        CheckedSource image(unbleached ? *unbleached : recorded,
                            [&](const ConstImageView& part) { light_.add_image(part); });
        CheckedSink checked(output, light_);
        std::optional<KeepingSink> kept;
        if (request_.warm_start) kept.emplace(checked, last_result(channel, output.format()));
        volumes_.push_back(kernels_.solver(channel).execute(
            image, kept ? static_cast<ImageSink&>(*kept) : checked, run, volume_context));
        light_.end_volume(volumes_.back().background);
    };
    if (!request_.second_output.empty()) {
        io::ImageMetadata deviation = output_metadata_;
        deviation.type = PixelType::float32;
        second_writer_ = io::create_image(request_.second_output, deviation, request_.create);
    }
    if (request_.dump_every > 0)
        estimates_.emplace(request_.dump_every, *options_.iterations, request_.output,
                           output_metadata_, result_.computed, request_.create, request_.inputs());
    try {
        write(result_, context, [&](ImageSink& sink) {
            for_each_volume(*reader_, sink, overlapped_, context, restore);
        });
        find_cause_of_misfit(context);
    } catch (const DeviceFailure&) {
        if (estimates_) estimates_->remove();  // a run on the CPU may write the estimates again
        throw;
    }
}

std::string estimate_name(const std::string& result, const io::ImageMetadata& image, index_t volume,
                          int iteration, int iterations) {
    std::string mark;
    if (image.frames * image.channels > 1)
        mark = message(".t", zero_padded(volume / image.channels, image.frames - 1, 1), ".c",
                       zero_padded(volume % image.channels, image.channels - 1, 1));
    return marked_name(result, message(mark, ".iter", zero_padded(iteration, iterations, 3)));
}

EstimateFiles::EstimateFiles(int every, int iterations, std::string path,
                             const io::ImageMetadata& result, PixelType type,
                             io::CreateOptions create, const std::vector<std::string>& inputs)
    : every_(every),
      iterations_(iterations),
      path_(std::move(path)),
      result_metadata_(result),
      create_(std::move(create)),
      estimate_(result.shape, type) {
    for (index_t volume = 0; volume < result.frames * result.channels; ++volume)
        for (int iteration = every; iteration <= iterations; iteration += every)
            check_outputs(
                {{path_, estimate_name(path_, result_metadata_, volume, iteration, iterations)},
                 inputs,
                 create_.overwrite});
}

io::ImageMetadata EstimateFiles::metadata_of(index_t volume) const {
    io::ImageMetadata one = result_metadata_;
    one.type = estimate_.type();
    one.scaling.reset();
    if (result_metadata_.frames * result_metadata_.channels == 1) return one;
    const index_t c = volume % result_metadata_.channels;
    const auto channel = static_cast<std::size_t>(c);
    one.frames = one.channels = 1;
    one.frame_interval_s.reset();
    one.axes = "ZYX";
    if (!one.channel_names.empty()) one.channel_names = {result_metadata_.channel_names[channel]};
    if (!one.channel_colors.empty())
        one.channel_colors = {result_metadata_.channel_colors[channel]};
    // The image's texts describe channels and planes that this single volume does not have.
    one.microscope.channels.clear();
    one.ome_xml.clear();
    one.imagej_description.clear();
    io::keep_lookup_tables(one, {c});
    return one;
}

void EstimateFiles::write_if_due(index_t volume, const Iteration& iteration,
                                 const EstimateReader& read) {
    // Estimates of a search or a split are not written: they use a part of the photons only.
    if (iteration.searching || iteration.split > 0 || iteration.number % every_ != 0) return;
    read(estimate_.view());
    const std::string name =
        estimate_name(path_, result_metadata_, volume, iteration.number, iterations_);
    const auto writer = io::create_image(name, metadata_of(volume), create_);
    writer->write(0, 0, std::as_const(estimate_).view());
    writer->commit();
    written_.push_back(name);
}

void EstimateFiles::remove() {
    for (const std::string& name : written_) {
        std::error_code gone;
        std::filesystem::remove_all(io::parse_path(name).file, gone);
    }
    written_.clear();
}

}  // namespace convolume::cli
