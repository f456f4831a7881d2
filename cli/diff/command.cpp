// SPDX-License-Identifier: Apache-2.0
// `convolume diff`: its request, its options and its run.

#include "cli/preview/command.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/diff/difference.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/files/volumes.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/picture/projection.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

/// Difference between black and white, to which PSNR and SSIM relate: of the values of the first
/// image, of its pixel type, or a number.
struct RangeRule {
    enum class Kind { image, type, number };
    Kind kind = Kind::image;
    double number = 0;
};

struct DiffRequest {
    std::string first;
    std::string second;
    ImageSelection selection;  ///< part of both images
    RangeRule range;
    std::string picture;  ///< PNG file; may be empty
    bool overwrite = false;
    std::optional<double> least_psnr;  ///< in dB
    std::optional<double> tolerance;   ///< largest difference that is allowed
    RunOptions run;

    RunFiles files() const {
        RunFiles files{{run.timeline, picture}, {}, overwrite};
        for (const std::string& image : {first, second})
            for (std::string& file : io::image_files(image, selection.open_options()))
                files.inputs.push_back(std::move(file));
        return files;
    }
};

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

bool voxels_differ(const io::ImageMetadata& a, const io::ImageMetadata& b) {
    constexpr double least_difference = 0.01;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto &p = a.voxel_size_um[axis], &q = b.voxel_size_um[axis];
        if (p && q && std::abs(*p - *q) > least_difference * *p) return true;
    }
    return false;
}

struct ChannelDifference {
    /// Range of the finite values of the first image, if it is needed.
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double range = 0;
    ImageDifference sums;
};

class DiffSteps : public RunSteps {
  public:
    explicit DiffSteps(const DiffRequest& request) : request_(request) {}

    void open(const ExecutionContext&) override {
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

    void plan(const ExecutionContext&) override {
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

    void tell_plan(const Facts& facts) const override {
        const Console& console = facts.console;
        facts.json["first"] = to_json(request_.first, a_);
        facts.json["second"] = to_json(request_.second, b_);
        for (const auto& [path, image] :
             {std::pair(&request_.first, &a_), {&request_.second, &b_}}) {
            console.fact("image", message(*path, ": ", one_line(*image)));
            console.warnings(note_warnings(*path, *image));
            if (image->scaling)
                console.fact("values",
                             message(scaling_text(*image->scaling), ", which is applied"));
        }
        if (voxels_differ(a_, b_))
            console.warning(message(
                "the images have other voxels (", format_voxel_size(a_.voxel_size_um), " and ",
                format_voxel_size(b_.voxel_size_um), "); they are compared sample by sample"));
    }

    WorkAmount work() const override {
        return {static_cast<double>(a_.frames * a_.channels) *
                static_cast<double>(element_count(a_.shape))};
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        find_ranges(context);
        compare_images(context);
        first_->check_unchanged();
        second_->check_unchanged();
    }

    void commit() override {
        if (!picture_) return;
        const double white = percentile_limits(picture_->along_z, 0, 100).high;
        PreviewStack stack{"|A - B|",
                           {message("A ", request_.first), message("B ", request_.second)},
                           {PreviewChannel{static_cast<OrthogonalViews&>(*picture_), {0, white}}}};
        set_sample_distances(a_, stack);
        io::write_whole_file(request_.picture, draw_preview({stack}, {}).png());
    }

    void tell_output(const Facts& facts) const override {
        if (request_.run.dry_run) return;
        if (picture_) facts.console.fact("picture", request_.picture);
        if (facts.console.quiet() || request_.run.json) return;
        std::string text;
        for (index_t c = 0; c < a_.channels; ++c) text += channel_text(c);
        write_stdout(text);
    }

    void tell_result(const Facts& facts) const override {
        nlohmann::ordered_json& json = facts.json;
        json["channels"] = nlohmann::ordered_json::array();
        for (index_t c = 0; c < a_.channels; ++c) {
            const ChannelDifference& channel = channels_[static_cast<std::size_t>(c)];
            const ImageDifference& sums = channel.sums;
            const auto place = first_->place_in_file({sums.largest.index, sums.largest.t, c});
            nlohmann::ordered_json one;
            one["channel"] = place.channel;
            one["samples"] = sums.samples;
            one["different"] = sums.different;
            one["largest_difference"] = finite_or_null(sums.largest.difference);
            one["largest_at"] = nlohmann::ordered_json();
            if (sums.different > 0)
                one["largest_at"] = {{"frame", place.frame},
                                     {"index", {place.index.z, place.index.y, place.index.x}},
                                     {"first", finite_or_null(sums.largest.first)},
                                     {"second", finite_or_null(sums.largest.second)}};
            one["rms"] = finite_or_null(sums.rms());
            one["range"] = channel.range;
            one["psnr_db"] = finite_or_null(sums.psnr(channel.range).value_or(NAN));
            one["ssim"] = or_null(sums.ssim());
            json["channels"].push_back(one);
        }
    }

    /// Throws ErrorTooLarge if a channel does not meet the limits of the request.
    void check_limits() const {
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
                throw InvalidArgument(message("the PSNR", where,
                                              " has no range, as all values of \"", request_.first,
                                              "\" are equal; give --range"));
            if (!(*psnr >= *request_.least_psnr))
                throw ErrorTooLarge(message("the PSNR", where, " is ", format_number(*psnr),
                                            " dB, below the ", format_number(*request_.least_psnr),
                                            " of --require-psnr"));
        }
    }

  private:
    void check_match() const {
        if (a_.shape == b_.shape && a_.channels == b_.channels && a_.frames == b_.frames) return;
        throw InvalidArgument(message(
            "the images differ in extents: \"", request_.first, "\" has ", extents_text(a_), ", \"",
            request_.second, "\" ", extents_text(b_),
            "; choose parts that match with --channel, --frame and --crop, or convolume convert"));
    }

    /// Sets the range of each channel.
    void find_ranges(const ExecutionContext& context) {
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
            extend_range(values.elements<double>(), element_count(box.shape()), channel.low,
                         channel.high);
            context.progress(0.25 * static_cast<double>(item + 1) /
                             static_cast<double>(boxes_->count()));
        }
        for (ChannelDifference& channel : channels_)
            channel.range = std::max(channel.high - channel.low, 0.0);
    }

    void compare_images(const ExecutionContext& context) {
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
            channel.sums.add(difference_of(
                {static_cast<const double*>(a.data), static_cast<const double*>(b.data), shape,
                 box.shape().y, channel.range, box.begin, boxes_->t(item)}));
            if (picture_) draw(a, b, box.begin.z);
            context.progress(begin + (1 - begin) * static_cast<double>(item + 1) /
                                         static_cast<double>(boxes_->count()));
        };
        run_item_steps(boxes_->count(), true, steps);
    }

    /// Adds the differences of a box, whose first image is in `samples`, to the picture.
    void draw(ImageView samples, const ConstImageView& second, index_t z_begin) {
        auto* a = static_cast<double*>(samples.data);
        const auto* b = static_cast<const double*>(second.data);
        for (index_t i = 0; i < element_count(samples.shape); ++i) a[i] = std::abs(a[i] - b[i]);
        picture_->add(samples, z_begin);
    }

    /// Returns a text such as "z,y,x 3,10,20, channel 1, time 0", in the numbers of the first file.
    std::string place_text(index_t channel) const {
        const ImageDifference::Sample& largest =
            channels_[static_cast<std::size_t>(channel)].sums.largest;
        const NonfiniteSample::Location place =
            first_->place_in_file({largest.index, largest.t, channel});
        const Index3& at = place.index;
        return message("z,y,x ", at.z, ",", at.y, ",", at.x,
                       place.of_several
                           ? message(", channel ", place.channel, ", time ", place.frame)
                           : std::string());
    }

    std::string range_text(const ChannelDifference& channel) const {
        const std::string range = format_number(channel.range);
        switch (request_.range.kind) {
            case RangeRule::Kind::number:
                return message("range ", range);
            case RangeRule::Kind::type:
                return message("range ", range, " of ", to_string(a_.type));
            case RangeRule::Kind::image:
                break;
        }
        return message("range ", range, ": ", format_number(channel.low), " to ",
                       format_number(channel.high), " of ", request_.first);
    }

    std::string channel_text(index_t number) const {
        const auto c = static_cast<std::size_t>(number);
        const ChannelDifference& channel = channels_[c];
        const ImageDifference& sums = channel.sums;
        std::string text;
        const auto add = [&](const char* label, const std::string& value) {
            text += message(label, ": ", value, "\n");
        };
        if (a_.channels > 1)
            add("channel",
                message(number, c < a_.channel_names.size() ? " (" + a_.channel_names[c] + ")"
                                                            : std::string()));
        add("different", message(sums.different, " of ", sums.samples, " samples"));
        add("largest difference",
            sums.different == 0
                ? "0"
                : message(format_number(sums.largest.difference), " at ", place_text(number), " (",
                          format_number(sums.largest.first), " and ",
                          format_number(sums.largest.second), ")"));
        add("RMS", format_number(sums.rms()));
        const std::optional<double> psnr = sums.psnr(channel.range);
        if (sums.different == 0)
            add("PSNR", "infinite, since the images are equal");
        else
            add("PSNR", psnr ? message(format_number(*psnr, 4), " dB (", range_text(channel), ")")
                             : message("none, since all values of ", request_.first, " are equal"));
        const std::optional<double> ssim = sums.ssim();
        add("SSIM", ssim               ? format_number(*ssim, 4)
                    : sums.windows > 0 ? "none, since the range is 0 or values are not finite"
                                       : message("none, since planes are smaller than ",
                                                 ssim_window, "×", ssim_window));
        return text;
    }

    const DiffRequest& request_;
    std::unique_ptr<SelectedImage> first_, second_;
    io::ImageMetadata a_, b_;
    std::optional<ImageBoxes> boxes_;
    std::vector<ChannelDifference> channels_;
    std::optional<Projections> picture_;
};

/// Reads two images box by box and adds up the measures of each channel. Throws ErrorTooLarge if a
/// channel does not meet the limits of the request.
void run_diff(const DiffRequest& request) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    check_outputs(request.files());
    DiffSteps steps(request);
    carry_out(steps, request.run, console, interrupt.stop(), [] {});
    if (!request.run.dry_run) steps.check_limits();
}

RangeRule parse_range_rule(std::string_view option, const std::string& text) {
    if (text == "image") return {};
    if (text == "type") return {RangeRule::Kind::type, 0};
    const double number = parse_number(option, text);
    if (!(number > 0))
        throw InvalidArgument(message(option, " is image, type or a number above 0, not \"", text,
                                      "\"; choose one of these"));
    return {RangeRule::Kind::number, number};
}

}  // namespace

void add_diff_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "diff", "Measure the difference of two images: PSNR, largest difference, SSIM");
    auto request = std::make_shared<DiffRequest>();
    set_examples(*command, {"convolume diff blurred.tif smooth.tif --picture difference.png",
                            "convolume diff image.tif image.ome.tif --tolerance 0"});
    command->add_option("A", request->first, "The reference: " + io::usual_image_endings())
        ->required();
    command->add_option("B", request->second, "The image to compare with it")->required();
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::method);
    add_parsed(*command, "--range", request->range, parse_range_rule, "image|type|NUMBER",
               "Difference between black and white for PSNR and SSIM: largest less least value of "
               "a channel of A, the whole range of its integer type, or a number (default image)");
    begin_group(*command, "Limits");
    add_parsed(*command, "--require-psnr", request->least_psnr, parse_number, "DB",
               "Exit code 6 if the PSNR of a channel is lower");
    add_parsed(*command, "--tolerance", request->tolerance, parse_number, "X",
               "Exit code 6 if a difference is larger; 0 requires equal images");
    begin_group(*command, groups::output);
    add_value(*command, "--picture", request->picture, "PNG",
              "Picture of the largest differences along each axis");
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists");
    add_run_options(*command, request->run);
    command->callback([request, &action] {
        if (!request->picture.empty() && !is_png(request->picture))
            throw InvalidArgument(message("--picture is a PNG file, not \"", request->picture,
                                          "\"; give a name that ends in .png"));
        action = [request] { run_diff(*request); };
    });
}

}  // namespace convolume::cli
