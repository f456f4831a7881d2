// SPDX-License-Identifier: Apache-2.0
// `convolume project`: its request, and its run, which reads the image box by box and writes each
// part of the projection as soon as it is complete.

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/project/reduction.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

const Choices<ProjectionKind> projections{
    {"max", ProjectionKind::max}, {"mean", ProjectionKind::mean}, {"sum", ProjectionKind::sum}};

const std::string& to_string(ProjectionKind by) {
    return projections[static_cast<std::size_t>(by)].first;
}

struct ProjectRequest : ImageFiles {
    int axis = 0;
    ProjectionKind by = ProjectionKind::max;
};

// Number of samples of a box, whose float64 values take 8 MiB.
constexpr index_t box_samples = index_t{1} << 20;

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
    if (by != ProjectionKind::max) image.type = PixelType::float32;
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

class ProjectSteps : public ImageSteps {
  public:
    explicit ProjectSteps(const ProjectRequest& request) : ImageSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        if (is_complex(input_metadata_.type))
            throw BadData(message("\"", request_.image,
                                  "\" is complex, and projections are of real values; give its "
                                  "magnitude"));
        project_metadata(output_metadata_, request_.axis, request_.by);
        if (is_png(request_.output)) check_fits_png(request_.output, output_metadata_);
    }

    void plan(const ExecutionContext&) override {
        box_ = box_of(reader_->format());
        region_ = box_;
        region_[request_.axis] = input_metadata_.shape[request_.axis];
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        if (is_png(request_.output))
            writer_ = std::make_unique<GrayPng>(request_.output, output_metadata_);
        else
            writer_ = io::create_image(request_.output, output_metadata_, request_.create);
        Reduction reduction(request_.axis, request_.by, box_, region_);
        stored_ = Volume(without_axis(region_, request_.axis), output_metadata_.type);
        Volume samples(box_, input_metadata_.type);
        for (index_t frame = 0; frame < input_metadata_.frames; ++frame)
            for (index_t channel = 0; channel < input_metadata_.channels; ++channel)
                project(frame, channel, reduction, samples, context);
        reader_->check_unchanged();
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        facts.console.fact("along",
                           message(axis_name(request_.axis), ": ", to_string(request_.by)));
        facts.json["axis"] = axis_name(request_.axis);
        facts.json["by"] = to_string(request_.by);
    }

  private:
    void project(index_t frame, index_t channel, Reduction& reduction, Volume& samples,
                 const ExecutionContext& context) {
        const Box3 whole{{0, 0, 0}, input_metadata_.shape};
        const double volumes =
            static_cast<double>(input_metadata_.frames * input_metadata_.channels);
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
            const ImageView stored = subview(stored_.view(), {{0, 0, 0}, result.shape});
            static_cast<void>(convert_pixels(result, stored));
            const PhaseTimer timer(
                context.timeline, Phase::write, -1, -1,
                element_count(stored.shape) * static_cast<index_t>(size_of(stored.type)));
            writer_->write_box(frame, channel, projected_box(region, request_.axis), stored);
        });
    }

    const ProjectRequest& request_;
    Shape3 box_;     ///< extents of the boxes that are read at a time
    Shape3 region_;  ///< extents that are projected at a time: box_ along the whole axis
    Volume stored_;  ///< samples that are written
};

}  // namespace

void add_project_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("project", "Project stacks along an axis: maximum, mean or sum");
    auto request = std::make_shared<ProjectRequest>();
    set_examples(*command, {"convolume project image.tif --max -o brightest.tif",
                            "convolume project image.tif --axis y --by mean -o mean.tif"});
    command->add_option("IMAGE", request->image, io::usual_image_endings())->required();
    begin_group(*command, groups::method);
    add_choice(*command, "--axis", request->axis, {{"z", 0}, {"y", 1}, {"x", 2}},
               "The axis to project along (default z)");
    add_choice(
        *command, "--by", request->by, projections,
        "The largest value along the axis, which keeps the pixel type, or the mean or sum, which "
        "are float32 (default max; --max, --mean and --sum are short for it)");
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::output);
    add_value(*command, "-o,--output", request->output, "OUT",
              "The projection: .tif, .ome.tif, .h5, .h5:/dataset, .npy, or .png for one "
              "gray picture");
    add_compression_option(*command, request->create, "Compression of the output (default none)");
    command->add_flag("--overwrite", request->create.overwrite, "Replace an output that exists");
    add_run_options(*command, request->run);
    command->callback([request, &action] {
        require_output(request->output, request->run);
        if (is_png(request->output) && request->create.compression != io::Compression::none)
            throw InvalidArgument(
                "PNG files are always compressed, by deflate; leave --compression out");
        action = [request] { run_steps<ProjectSteps>(*request); };
    });
}

}  // namespace convolume::cli
