// SPDX-License-Identifier: Apache-2.0
#include "cli/project/command.hpp"

#include <algorithm>
#include <numeric>

#include "cli/picture/gray_png.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

// Number of samples of a box. Their float64 sums take 64 MiB.
constexpr index_t box_samples = index_t{8} << 20;

/// Returns the extents of boxes to read: whole planes, or else rows, in whole pieces of the file.
Shape3 box_of(const StackFormat& image) {
    const Shape3& shape = image.shape;
    const auto pieces = [](index_t samples, index_t piece, index_t extent) {
        return std::min(std::max<index_t>(samples / piece, 1) * piece, extent);
    };
    const index_t rows = std::max<index_t>(box_samples / shape.x, 1);
    if (rows >= shape.y)
        return {pieces(rows / shape.y, std::min(image.piece.z, rows / shape.y), shape.z), shape.y,
                shape.x};
    const index_t planes = std::min({image.piece.z, shape.z, rows});
    const index_t rows_each = std::max<index_t>(rows / planes, 1);
    return {planes, pieces(rows_each, std::min(image.piece.y, rows_each), shape.y), shape.x};
}

/// Makes the metadata of an image those of its projection.
void project_metadata(io::ImageMetadata& image, int axis, ProjectionKind by) {
    image.shape = without_axis(image.shape, axis);
    image.type = projected_type(by, image.type);
    auto& size = image.voxel_size_um;
    size = {std::nullopt, axis == 0 ? size[1] : size[0], axis == 2 ? size[1] : size[2]};
    std::erase_if(image.axes, [](char letter) { return letter != 'T' && letter != 'C'; });
    image.axes += "YX";
    // Labels and regions belong to planes that the result does not have. Contrast limits of the
    // image do not fit sums.
    std::vector<index_t> channels(static_cast<std::size_t>(image.channels));
    std::iota(channels.begin(), channels.end(), index_t{0});
    io::keep_lookup_tables(image, channels);
    if (by == ProjectionKind::sum) image.imagej_description.clear();
}

/// Calls f(box) for boxes of at most `extents` that fill `whole`, with the first axis slowest.
template <class F>
void for_each_box(const Box3& whole, const Shape3& extents, F&& f) {
    Box3 box{whole.begin, {}};
    for (box.begin.z = whole.begin.z; box.begin.z < whole.end.z; box.begin.z += extents.z)
        for (box.begin.y = whole.begin.y; box.begin.y < whole.end.y; box.begin.y += extents.y) {
            box.end = {std::min(box.begin.z + extents.z, whole.end.z),
                       std::min(box.begin.y + extents.y, whole.end.y), whole.end.x};
            f(box);
        }
}

/// Returns the box that the projection of a region fills in the result.
Box3 projected_box(const Box3& region, int axis) {
    const int row = axis == 0 ? 1 : 0;
    const int column = axis == 2 ? 1 : 2;
    return {{0, region.begin[row], region.begin[column]}, {1, region.end[row], region.end[column]}};
}

}  // namespace

void ProjectSteps::open(const ExecutionContext& context) {
    ImageSteps::open(context);
    if (is_complex(input_metadata_.type))
        throw BadData(message("\"", request_.image,
                              "\" is complex, and projections are of real values; give its "
                              "magnitude"));
    project_metadata(output_metadata_, request_.axis, request_.by);
    if (is_png(request_.output)) check_fits_png(request_.output, output_metadata_);
}

void ProjectSteps::plan(const ExecutionContext&) {
    box_ = box_of(reader_->format());
    region_ = box_;
    region_[request_.axis] = input_metadata_.shape[request_.axis];
}

void ProjectSteps::project(index_t frame, index_t channel, Reduction& reduction, Volume& samples,
                           const ExecutionContext& context) {
    const Box3 whole{{0, 0, 0}, input_metadata_.shape};
    const double volumes = static_cast<double>(input_metadata_.frames * input_metadata_.channels);
    const double before = static_cast<double>(frame * input_metadata_.channels + channel);
    double done = 0;
    for_each_box(whole, region_, [&](const Box3& region) {
        reduction.begin(region.shape());
        for_each_box(region, box_, [&](const Box3& box) {
            throw_if_stopped(context);
            const ImageView view = subview(samples.view(), {{0, 0, 0}, box.shape()});
            {
                const PhaseTimer timer(context.timeline, Phase::read, -1, -1,
                                       element_count(box.shape()) *
                                           static_cast<index_t>(size_of(input_metadata_.type)));
                reader_->read_box(frame, channel, box, view);
            }
            const Index3& begin = region.begin;
            reduction.add(view, {box.begin.z - begin.z, box.begin.y - begin.y, 0});
            done += static_cast<double>(element_count(box.shape()));
            context.progress(
                (before + done / static_cast<double>(element_count(input_metadata_.shape))) /
                volumes);
        });
        const ConstImageView result = reduction.result();
        const PhaseTimer timer(
            context.timeline, Phase::write, -1, -1,
            element_count(result.shape) * static_cast<index_t>(size_of(result.type)));
        writer_->write_box(frame, channel, projected_box(region, request_.axis), result);
    });
}

void ProjectSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    if (is_png(request_.output))
        writer_ = std::make_unique<GrayPng>(request_.output, output_metadata_);
    else
        writer_ = io::create_image(request_.output, output_metadata_, request_.create);
    Reduction reduction(request_.by, request_.axis, region_, input_metadata_.type);
    Volume samples(box_, input_metadata_.type);
    for (index_t frame = 0; frame < input_metadata_.frames; ++frame)
        for (index_t channel = 0; channel < input_metadata_.channels; ++channel)
            project(frame, channel, reduction, samples, context);
    reader_->check_unchanged();
}

void ProjectSteps::tell_plan(const Facts& facts) const {
    ImageSteps::tell_plan(facts);
    facts.console.fact("along", message(axis_name(request_.axis), ": ", to_string(request_.by)));
    facts.json["axis"] = axis_name(request_.axis);
    facts.json["by"] = to_string(request_.by);
}

}  // namespace convolume::cli
