// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/command.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/preview/command.hpp"
#include "cli/run/errors.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr index_t compared_box_bytes = index_t{32} << 20;  // bytes of a box of float64 samples

/// Returns the extents of an image for messages.
std::string extents_text(const io::ImageMetadata& image) {
    return message(image.frames, image.frames == 1 ? " time, " : " times, ", image.channels,
                   image.channels == 1 ? " channel" : " channels", " and z,y,x ",
                   to_string(image.shape));
}

std::unique_ptr<SelectedImage> open_real(const std::string& path, const ImageSelection& selection) {
    auto image = open_selected(path, selection);
    if (is_complex(image->metadata().type))
        throw BadData(message("\"", path,
                              "\" is complex, and diff compares real values; give its magnitude"));
    return image;
}

/// Returns a view of the begin of `volume` with these extents.
ImageView begin_of(Volume& volume, const Shape3& shape) {
    return {volume.view().data, volume.type(), shape, contiguous_strides(shape)};
}

/// Converts samples of a file to their values.
void load_values(const ConstImageView& stored, const io::ImageMetadata& image,
                 const ImageView& values) {
    static_cast<void>(convert_pixels(stored, values));
    if (!image.scaling) return;
    auto* samples = static_cast<double*>(values.data);
    for (index_t i = 0; i < element_count(values.shape); ++i)
        samples[i] = samples[i] * image.scaling->scale + image.scaling->offset;
}

/// Returns the difference between the largest and the least value of an integer type.
double range_of_type(PixelType type) {
    return std::ldexp(1, static_cast<int>(8 * size_of(type))) - 1;
}

}  // namespace

void DiffSteps::open(const ExecutionContext&) {
    first_ = open_real(request_.first, request_.selection);
    second_ = open_real(request_.second, request_.selection);
    a_ = first_->metadata();
    b_ = second_->metadata();
    check_match();
    if (request_.range.kind == RangeRule::Kind::type && !is_integer(a_.type))
        throw InvalidArgument(message("--range type is for integers, but \"", request_.first,
                                      "\" is ", to_string(a_.type),
                                      "; give the range as a number, or --range image"));
}

void DiffSteps::check_match() const {
    if (a_.shape == b_.shape && a_.channels == b_.channels && a_.frames == b_.frames) return;
    throw InvalidArgument(message(
        "the images differ in extents: \"", request_.first, "\" has ", extents_text(a_), ", \"",
        request_.second, "\" ", extents_text(b_),
        "; choose parts that match with --channel, --frame and --crop, or convolume convert"));
}

void DiffSteps::plan(const ExecutionContext&) {
    channels_.resize(static_cast<std::size_t>(a_.channels));
    StackFormat format = first_->format();
    const StackFormat other = second_->format();
    for (int axis = 0; axis < 3; ++axis)
        format.piece[axis] = std::max(format.piece[axis], other.piece[axis]);
    constexpr auto sample_bytes = static_cast<index_t>(sizeof(double));
    index_t bytes = compared_box_bytes;
    if (!request_.picture.empty()) {  // pictures are made of whole planes
        require_drawing();
        picture_.emplace(a_.shape);
        bytes = std::max(bytes, a_.shape.y * a_.shape.x * sample_bytes);
        format.piece = {1, 1, 1};
    }
    boxes_.emplace(format, sample_bytes, bytes);
}

WorkAmount DiffSteps::work() const {
    return {static_cast<double>(a_.frames * a_.channels) *
            static_cast<double>(element_count(a_.shape))};
}

void DiffSteps::find_ranges(const ExecutionContext& context) {
    const RangeRule& rule = request_.range;
    const double scale = a_.scaling ? std::abs(a_.scaling->scale) : 1;
    for (ChannelDifference& channel : channels_)
        channel.range =
            rule.kind == RangeRule::Kind::type ? range_of_type(a_.type) * scale : rule.number;
    if (rule.kind != RangeRule::Kind::image) return;
    Volume stored(boxes_->shape(), a_.type), values(boxes_->shape(), PixelType::float64);
    for (index_t item = 0; item < boxes_->count(); ++item) {
        throw_if_stopped(context);
        const Box3 box = boxes_->at(item);
        const ImageView samples = begin_of(stored, box.shape());
        const PhaseTimer timer(context.timeline, Phase::read);
        first_->read_box(boxes_->t(item), boxes_->c(item), box, samples);
        load_values(samples, a_, begin_of(values, box.shape()));
        ChannelDifference& channel = channels_[static_cast<std::size_t>(boxes_->c(item))];
        const double* const all = values.elements<double>();
        for (index_t i = 0; i < element_count(box.shape()); ++i) {
            if (!std::isfinite(all[i])) continue;
            channel.low = std::min(channel.low, all[i]);
            channel.high = std::max(channel.high, all[i]);
        }
        context.progress(0.25 * static_cast<double>(item + 1) /
                         static_cast<double>(boxes_->count()));
    }
    for (ChannelDifference& channel : channels_)
        channel.range = std::max(channel.high - channel.low, 0.0);
}

void DiffSteps::compare_images(const ExecutionContext& context) {
    // Rows below a box complete its windows of SSIM.
    const auto read_shape = [&](const Box3& box) {
        Shape3 shape = box.shape();
        shape.y = std::min(box.end.y + ssim_window - 1, a_.shape.y) - box.begin.y;
        return shape;
    };
    Shape3 largest = boxes_->shape();
    largest.y = std::min(largest.y + ssim_window - 1, a_.shape.y);
    std::array<Volume, 2> stored_a{Volume(largest, a_.type), Volume(largest, a_.type)};
    std::array<Volume, 2> stored_b{Volume(largest, b_.type), Volume(largest, b_.type)};
    Volume values_a(largest, PixelType::float64), values_b(largest, PixelType::float64);
    const double begin = request_.range.kind == RangeRule::Kind::image ? 0.25 : 0;
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        const Box3 box = boxes_->at(item);
        const Shape3 shape = read_shape(box);
        const Box3 with_windows{box.begin, {box.end.z, box.begin.y + shape.y, box.end.x}};
        const auto slot = static_cast<std::size_t>(item % 2);
        const PhaseTimer timer(context.timeline, Phase::read);
        first_->read_box(boxes_->t(item), boxes_->c(item), with_windows,
                         begin_of(stored_a[slot], shape));
        second_->read_box(boxes_->t(item), boxes_->c(item), with_windows,
                          begin_of(stored_b[slot], shape));
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        const Box3 box = boxes_->at(item);
        const Shape3 shape = read_shape(box);
        const auto slot = static_cast<std::size_t>(item % 2);
        const ImageView a = begin_of(values_a, shape), b = begin_of(values_b, shape);
        load_values(begin_of(stored_a[slot], shape), a_, a);
        load_values(begin_of(stored_b[slot], shape), b_, b);
        ChannelDifference& channel = channels_[static_cast<std::size_t>(boxes_->c(item))];
        channel.sums.add(
            difference_of({static_cast<const double*>(a.data), static_cast<const double*>(b.data),
                           shape, box.shape().y, channel.range, box.begin, boxes_->t(item)}));
        if (picture_) draw(a, b, box.begin.z);
        context.progress(begin + (1 - begin) * static_cast<double>(item + 1) /
                                     static_cast<double>(boxes_->count()));
    };
    run_item_steps(boxes_->count(), true, steps);
}

void DiffSteps::draw(ImageView samples, const ConstImageView& second, index_t z_begin) {
    auto* a = static_cast<double*>(samples.data);
    const auto* b = static_cast<const double*>(second.data);
    for (index_t i = 0; i < element_count(samples.shape); ++i) a[i] = std::abs(a[i] - b[i]);
    picture_->add(samples, z_begin);
}

void DiffSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    find_ranges(context);
    compare_images(context);
    first_->check_unchanged();
    second_->check_unchanged();
}

void DiffSteps::commit() {
    if (!picture_) return;
    const double white = percentile_limits(picture_->along_z, 0, 100).high;
    PreviewStack stack{"|A - B|",
                       {message("A ", request_.first), message("B ", request_.second)},
                       {PreviewChannel{static_cast<OrthogonalViews&>(*picture_), {0, white}}}};
    set_sample_distances(a_, stack);
    io::write_whole_file(request_.picture, draw_preview({stack}, {}).png());
}

void DiffSteps::check_limits() const {
    for (index_t c = 0; c < a_.channels; ++c) {
        const ChannelDifference& channel = channels_[static_cast<std::size_t>(c)];
        const std::string where = a_.channels > 1 ? message(" of channel ", c) : std::string();
        const ImageDifference& sums = channel.sums;
        if (request_.tolerance && !(sums.largest.difference <= *request_.tolerance))
            throw ErrorTooLarge(message("the largest difference", where, " is ",
                                        format_number(sums.largest.difference), " at ",
                                        place_text(c), ", above the ",
                                        format_number(*request_.tolerance), " of --tolerance"));
        if (!request_.least_psnr || sums.different == 0) continue;
        const std::optional<double> psnr = sums.psnr(channel.range);
        if (!psnr)
            throw InvalidArgument(message("the PSNR", where, " has no range, as all values of \"",
                                          request_.first, "\" are equal; give --range"));
        if (!(*psnr >= *request_.least_psnr))
            throw ErrorTooLarge(message("the PSNR", where, " is ", format_number(*psnr),
                                        " dB, below the ", format_number(*request_.least_psnr),
                                        " of --require-psnr"));
    }
}

}  // namespace convolume::cli
