// SPDX-License-Identifier: Apache-2.0
// `convolume convert`: its request, and its run, which reads, converts and writes an image box by
// box.

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cli/files/result_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

namespace {

struct ConvertRequest : ImageFiles {
    std::vector<std::string> channel_names;  ///< empty: those of the image
    std::string output_type;                 ///< name of a type, "same", or empty for the default
    bool scale_output = false;
};

// Bytes of a box: two boxes of the image and two of the output are in memory.
constexpr index_t converted_box_bytes = index_t{32} << 20;

std::vector<std::string> parse_names(std::string_view option, const std::string& text) {
    std::vector<std::string> names = pieces_of(text, ',');
    if (names.empty())
        throw InvalidArgument(
            message(option, " is empty; give a name for each channel, as in ", "DAPI,GFP"));
    return names;
}

void set_channel_names(io::ImageMetadata& image, const std::vector<std::string>& names) {
    if (static_cast<index_t>(names.size()) != image.channels)
        throw InvalidArgument(
            message("--channel-names gives ", names.size(), names.size() == 1 ? " name" : " names",
                    ", but the output has ", image.channels,
                    image.channels == 1 ? " channel" : " channels", "; give one for each"));
    image.channel_names = names;
    // Labels of planes may be the old names. Writers make labels of the new ones.
    std::vector<index_t> channels(names.size());
    std::iota(channels.begin(), channels.end(), index_t{0});
    io::keep_lookup_tables(image, channels);
}

void apply_scaling(const ImageView& values, const io::ValueScaling& scaling) {
    auto* samples = static_cast<double*>(values.data);
    for (index_t i = 0; i < element_count(values.shape); ++i)
        samples[i] = samples[i] * scaling.scale + scaling.offset;
}

class ConvertSteps : public ImageSteps {
  public:
    explicit ConvertSteps(const ConvertRequest& request) : ImageSteps(request), request_(request) {
        allows_nonfinite_ = true;  // the image may hold them
        handles_scaling_ = true;
    }

    void plan(const ExecutionContext&) override {
        storage_ = {.scaled = request_.scale_output, .threads = thread_count(0)};
        const std::string& type = request_.output_type;
        output_metadata_.type =
            resolve_output_type(storage_.scaled ? scaled_output_type(type, input_metadata_.type)
                                : type.empty()  ? "same"
                                                : type,
                                input_metadata_.type, input_metadata_.type, Precision::float32);
        const bool is_short =
            size_of(input_metadata_.type) <= 2 || input_metadata_.type == PixelType::float32;
        storage_.computed = !storage_.scaled ? output_metadata_.type
                            : is_short       ? PixelType::float32
                                             : PixelType::float64;
        storage_.box_bytes = converted_box_bytes;
        if (!applies_scaling()) output_metadata_.scaling = input_metadata_.scaling;
        if (!request_.channel_names.empty())
            set_channel_names(output_metadata_, request_.channel_names);
        if (is_png(request_.output)) check_fits_png(request_.output, output_metadata_);
        storage_.place =
            place_of_intermediate(StackFormat{output_metadata_.shape, storage_.computed,
                                              input_metadata_.frames, input_metadata_.channels}
                                      .bytes(),
                                  host_limit_bytes({}), true);
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        const auto copy_to = [&](ImageSink& sink) {
            for_each_box(*reader_, sink, converted_box_bytes, context,
                         [&](const ConstImageView& input, const ImageView& output) {
                             convert(input, output);
                         });
            reader_->check_unchanged();
        };
        if (is_png(request_.output)) {
            writer_ = std::make_unique<GrayPng>(request_.output, output_metadata_);
            return copy_to(*writer_);
        }
        write(storage_, context, copy_to);
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        if (input_metadata_.scaling)
            facts.console.fact(
                "values",
                message(scaling_text(*input_metadata_.scaling),
                        applies_scaling() ? ", which is applied" : ", which the output says too"));
    }

    void tell_result(const Facts& facts) const override {
        ImageSteps::tell_result(facts);
        if (nonfinite_ > 0 && size_of(output_metadata_.type) < size_of(input_metadata_.type))
            facts.console.warning(
                message(nonfinite_, " values of the output are NaN or infinite: those beyond ",
                        to_string(output_metadata_.type),
                        " have become infinite; choose --output-type same to keep them"));
    }

  private:
    /// Returns true if values are written instead of the stored samples.
    bool applies_scaling() const {
        return input_metadata_.scaling &&
               (storage_.scaled || output_metadata_.type != input_metadata_.type);
    }

    /// Converts a box of the image to the type of `output`, and counts clamped values.
    void convert(const ConstImageView& input, const ImageView& output) {
        ConstImageView from = input;
        if (applies_scaling()) {
            if (element_count(values_.shape()) < element_count(input.shape))
                values_ = Volume(input.shape, PixelType::float64);
            const ImageView values{values_.view().data, values_.type(), input.shape,
                                   contiguous_strides(input.shape)};
            static_cast<void>(convert_pixels(input, values));
            apply_scaling(values, *input_metadata_.scaling);
            from = values;
        }
        const ClampCount clamped = convert_pixels(from, output);
        executed_.clamped_low += clamped.low;
        executed_.clamped_high += clamped.high;
    }

    const ConvertRequest& request_;
    ResultStorage storage_;
    Volume values_;  ///< values of a box, if scaling is applied
};

}  // namespace

void add_convert_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "convert", "Convert an image to another format or pixel type, or a part of it");
    auto request = std::make_shared<ConvertRequest>();
    set_examples(*command,
                 {"convolume convert image.tif image.ome.tif --voxel 300,65,65nm",
                  "convolume convert image.tif part.npy --crop 2:6,:,: --output-type uint16"});
    command->add_option("IN", request->image, io::usual_image_endings())->required();
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::output);
    add_parsed(*command, "--channel-names", request->channel_names, parse_names, "NAME,…",
               "Names of the channels (default: those of the image)");
    add_value(*command, "-o,--output,OUT", request->output, "OUT",
              "The output: .tif, .ome.tif, .h5, .h5:/dataset, .npy, or .png for one plane");
    add_image_storage_options(*command, request->output_type, request->create, "same");
    add_scale_output_option(*command, request->scale_output);
    add_run_options(*command, request->run);
    command->callback([request, &action] {
        if (request->output.empty() && !request->run.dry_run)
            throw InvalidArgument(
                "no output was named; give it after the image, as in convolume convert IN OUT");
        if (is_png(request->output) &&
            (request->scale_output || request->create.compression != io::Compression::none))
            throw InvalidArgument(
                "PNG files are always compressed, and float values are scaled to 16 bits; leave "
                "--compression and --scale-output out");
        action = [request] { run_steps<ConvertSteps>(*request); };
    });
}

}  // namespace convolume::cli
