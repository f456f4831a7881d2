// SPDX-License-Identifier: Apache-2.0
// Findings of `convolume deconvolve` in the pixels of an image, before the deconvolution is
// planned: missing and saturated pixels, bleaching, and the optics that fit.

#include <algorithm>
#include <utility>

#include "cli/deconvolve/command.hpp"
#include "convolume/execution.hpp"
#include "operations/warnings/restoration.hpp"

namespace convolume::cli {

namespace {

// Reads the one volume of a file, such as "the mask"; returns an empty one if no file is given.
Volume read_for_all_volumes(const char* what, const std::string& file) {
    if (file.empty()) return {};
    const auto reader = io::open_image(file);
    const io::ImageMetadata& image = reader->metadata();
    if (image.frames * image.channels != 1)
        throw InvalidArgument(message(what, " \"", file, "\" has ", image.channels,
                                      " channels and ", image.frames,
                                      " times; give one volume, which is for all of the image"));
    Volume values(image.shape, image.type);
    reader->read(0, 0, values.view());
    return values;
}

}  // namespace

void DeconvolveSteps::find_missing(const ExecutionContext& context) {
    const PhaseTimer timer(context.timeline, Phase::read);
    const StopScope scope(context.stop);
    const bool compares_all = !has_likelihood(options_.method);
    for (const auto& psf : kernels_.all()) {
        if (psf->sharpness || compares_all) continue;
        psf->sharpness = sharpness_of(psf->file.values.view());
        for (const KernelFile& deeper : psf->file.deeper)
            psf->sharpness->include(sharpness_of(deeper.values.view()));
    }
    MissingPixelOptions options = searched_by(options_.method, request_.missing);
    options.camera_maximum = input_metadata_.microscope.camera_maximum();
    constexpr index_t shares = 8;  // of the memory limit
    options.most_bytes =
        std::min(options.most_bytes, host_limit_bytes(request_.options.max_host_bytes) / shares);
    const Volume mask = read_for_all_volumes("the mask", request_.mask);
    pixel_weights_ = read_for_all_volumes("the image of weights", request_.weights);
    missing_.clear();
    for (index_t t = 0; t < input_metadata_.frames; ++t)
        for (index_t c = 0; c < input_metadata_.channels; ++c) {
            MissingPixels found = find_missing_pixels(
                *reader_, t, c, kernels_.of(c).sharpness.value_or(PsfSharpness()), options,
                request_.engines.threads);
            if (mask.bytes() > 0)
                found.add_mask(mask.view(), message("the mask \"", request_.mask, '"'));
            if (pixel_weights_.bytes() > 0)
                found.add_mask(std::as_const(pixel_weights_).view(),
                               message("the image of weights \"", request_.weights, '"'));
            missing_.push_back(std::move(found));
        }
    std::optional<double> saturation;  // the largest value of all volumes
    for (const MissingPixels& one : missing_)
        if (one.saturated) saturation = std::max(saturation.value_or(0), one.saturated->value);
    for (MissingPixels& one : missing_)
        if (one.saturated && one.saturated->value < *saturation) one.saturated.reset();
    saturation_ = request_.options.saturation;
    if (saturation && !compares_all) saturation_ = saturation;
}

void DeconvolveSteps::use_findings(const ExecutionContext& context) {
    const bool marks = has_missing() && has_likelihood(options_.method);
    if (!saturation_ && !marks && bleachings_.empty()) return;
    options_.saturation = saturation_;
    if (saturation_ && !bleachings_.empty())
        options_.saturation = UnbleachedVolume::saturation_of_bounds();
    if (marks && !saturation_) options_.saturation = missing_pixel;
    const std::string variant =
        message(marks ? " with missing pixels" : "", bleachings_.empty() ? "" : " that bleach",
                saturation_ ? message(" saturated at ", *saturation_) : "");
    kernels_.load(request_, *reader_, {host_limit_bytes(request_.options.max_host_bytes), {}},
                  context, variant);
}

namespace {

// An image whose missing pixels are marked. It knows those of all volumes.
class MarkedImage : public ImageSource {
  public:
    MarkedImage(ImageSource& source, const std::vector<MissingPixels>& missing)
        : source_(source), missing_(missing) {}
    StackFormat format() const override {
        StackFormat format = source_.format();
        format.type = PixelType::float32;
        return format;
    }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        const auto number = static_cast<std::size_t>(t * source_.format().channels + c);
        MarkedSource(source_, missing_[number]).read_box(t, c, box, target);
    }

  private:
    ImageSource& source_;
    const std::vector<MissingPixels>& missing_;
};

}  // namespace

void DeconvolveSteps::find_bleachings(const ExecutionContext& context) {
    const PhaseTimer timer(context.timeline, Phase::read);
    const StopScope scope(context.stop);
    MarkedImage image(*reader_, missing_);
    bleachings_.clear();
    for (index_t c = 0; c < input_metadata_.channels; ++c)
        bleachings_.push_back(
            find_bleaching(image, c, keeps_light_of_planes(kernels_.of(c).file.values.view()),
                           request_.options.offset, request_.engines.threads));
}

bool DeconvolveSteps::has_missing() const {
    return std::any_of(missing_.begin(), missing_.end(),
                       [](const MissingPixels& one) { return one.count() > 0; });
}

FittedPsf DeconvolveSteps::fit_to_volume(index_t t, index_t c, int most_comparisons,
                                         const ExecutionContext& context) {
    SourceChannel channel(*reader_, c, t);
    std::optional<MarkedSource> marked;
    PsfFitOptions options;
    options.most_comparisons = most_comparisons;
    options.saturation = saturation_;
    if (has_missing() && !saturation_) options.saturation = missing_pixel;
    if (has_missing())
        marked.emplace(channel,
                       missing_[static_cast<std::size_t>(t * input_metadata_.channels + c)]);
    return fit_psf(marked ? static_cast<ImageSource&>(*marked) : channel, *kernels_.of(c).file.made,
                   options, request_.engines, context);
}

void DeconvolveSteps::refine_psfs(const ExecutionContext& context) {
    const PhaseTimer timer(context.timeline, Phase::prepare);
    std::vector<const Kernels::Ready*> done;
    for (index_t c = 0; c < input_metadata_.channels; ++c) {
        const Kernels::Ready& psf = kernels_.of(c);
        if (psf.solver || std::find(done.begin(), done.end(), &psf) != done.end()) continue;
        done.push_back(&psf);
        const FittedPsf fitted = fit_to_volume(0, c, PsfFitOptions().most_comparisons, context);
        const std::string place =
            input_metadata_.channels > 1 ? message("channel ", kernels_.number(c), ": ") : "";
        refined_.push_back(message(
            place, fitted.changes.empty() ? "no change fits the image better" : fitted.changes,
            "; errors of predicted photons are ", format_number(fitted.first_error, 4), " -> ",
            format_number(fitted.error, 4), " times those of noise"));
        kernels_.replace_made(c, fitted.model, context);
    }
}

void DeconvolveSteps::find_cause_of_misfit(const ExecutionContext& context) {
    const auto volume = misfitting_volume(volumes_);
    if (!volume || request_.refines_psf) return;
    const auto number = static_cast<index_t>(*volume), channels = input_metadata_.channels;
    const KernelFile& psf = kernels_.of(number % channels).file;
    if (!psf.made || !psf.deeper.empty()) return;
    // One change of each parameter in either direction shows which one is wrong.
    constexpr int comparisons = 10;
    const PhaseTimer timer(context.timeline, Phase::prepare);
    ExecutionContext own;
    own.stop = context.stop;
    try {
        better_optics_ =
            fit_to_volume(number / channels, number % channels, comparisons, own).changes;
    } catch (const InvalidArgument&) {  // an image of less than three planes
    } catch (const BadData&) {          // its noise does not tell the photons
    }
}

}  // namespace convolume::cli
