// SPDX-License-Identifier: Apache-2.0
// `convolume phantom`, which draws and writes a specimen a few planes at a time.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/image_file.hpp"
#include "convolume/phantom.hpp"
#include "convolume/volume.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr index_t plane_group_bytes = index_t{32} << 20;

struct PhantomRequest {
    PhantomOptions options;
    std::string output;
    std::string voxel_warning;  ///< warning of the typed voxel size; empty for none
    std::string objects;        ///< JSON file for the list of objects; empty for none
    PixelType type = PixelType::float32;
    io::CreateOptions create{.software = software_name()};
    int threads = 0;
    RunOptions run;

    RunFiles files() const { return {{objects, output}, {}, create.overwrite}; }
};

io::ImageMetadata metadata_of(const PhantomRequest& request) {
    const VoxelSize& voxel = request.options.voxel;
    io::ImageMetadata metadata;
    metadata.shape = request.options.shape;
    metadata.type = request.type;
    metadata.voxel_size_um = {voxel.z_um, voxel.y_um, voxel.x_um};
    metadata.unit = "um";
    return metadata;
}

void fill_phantom_json(Json& json, const PhantomRequest& request, const Phantom& phantom) {
    const PhantomOptions& options = request.options;
    json["kind"] = to_string(options.kind);
    json["seed"] = options.seed;
    json["shape"] = shape_json(options.shape);
    json["voxel_size_um"] = {options.voxel.z_um, options.voxel.y_um, options.voxel.x_um};
    json["background"] = options.background;
    json["count"] = phantom.objects().size();
}

class PhantomSteps : public RunSteps {
  public:
    explicit PhantomSteps(const PhantomRequest& request) : request_(request) {}

    void open(const ExecutionContext&) override {}

    void plan(const ExecutionContext&) override {
        phantom_.emplace(request_.options);
        output_metadata_ = metadata_of(request_);
    }

    WorkAmount work() const override {
        return {static_cast<double>(element_count(output_metadata_.shape))};
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        writer_ = io::create_image(request_.output, output_metadata_, request_.create);
        const Shape3& shape = output_metadata_.shape;
        const index_t planes = group_planes();
        const Shape3 group{planes, shape.y, shape.x};
        const bool rounded = output_metadata_.type != PixelType::float32;
        // One group of planes is drawn, first into `unrounded` if necessary, while another is
        // written.
        Volume unrounded(rounded ? group : Shape3{}, PixelType::float32);
        const index_t groups = ceil_div(shape.z, planes);
        std::vector<Volume> results;
        for (index_t slot = 0; slot < std::min<index_t>(groups, 2); ++slot)
            results.emplace_back(group, output_metadata_.type);
        const auto part_of_group = [&](index_t number) {
            return Box3{{0, 0, 0}, {std::min(planes, shape.z - number * planes), shape.y, shape.x}};
        };
        ClampCount clamped;
        ItemSteps steps;
        steps.compute = [&](index_t number) {
            throw_if_stopped(context);
            const Box3 part = part_of_group(number);
            Volume& result = results[static_cast<std::size_t>(number % 2)];
            const ImageView drawn = subview(rounded ? unrounded.view() : result.view(), part);
            phantom_->draw(number * planes, drawn, request_.threads);
            if (rounded)
                clamped += convert_pixels(ConstImageView(drawn), subview(result.view(), part),
                                          request_.threads);
            context.progress(static_cast<double>(number * planes + part.end.z) /
                             static_cast<double>(shape.z));
        };
        steps.write = [&](index_t number) {
            Volume& result = results[static_cast<std::size_t>(number % 2)];
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, result.bytes());
            writer_->write_planes(0, 0, number * planes,
                                  subview(ConstImageView(result.view()), part_of_group(number)));
        };
        run_item_steps(groups, true, steps);
        clamped_ = clamped.high;
    }

    void commit() override {
        if (!request_.objects.empty()) io::write_whole_file(request_.objects, objects_text());
        writer_->commit();
    }

    void tell_plan(const Facts& facts) const override {
        const Console& console = facts.console;
        fill_phantom_json(facts.json, request_, *phantom_);
        const std::size_t objects = phantom_->objects().size();
        console.fact("phantom", message(to_string(request_.options.kind), ", ", objects,
                                        objects == 1 ? " object, " : " objects, ",
                                        format_voxel_size(output_metadata_.voxel_size_um),
                                        ", seed ", request_.options.seed));
        if (!request_.voxel_warning.empty()) console.warning(request_.voxel_warning);
    }

    void tell_result(const Facts& facts) const override {
        facts.json["clamped_high"] = clamped_;
        if (clamped_ > 0)
            facts.console.warning(message(clamped_, " values above the range of ",
                                          to_string(output_metadata_.type),
                                          " were clamped; lower --brightness or write float32"));
    }

    void tell_output(const Facts& facts) const override {
        report_output(facts.console, request_.output, output_metadata_,
                      request_.create.compression);
        facts.json["output"] = output_json(request_.output, output_metadata_);
    }

  private:
    /// Returns the number of planes to draw at a time: worth a call, and whole pieces of the file.
    index_t group_planes() const {
        const Shape3& shape = output_metadata_.shape;
        const index_t plane_bytes =
            checked_multiply(checked_multiply(shape.y, shape.x), index_t{4});
        const index_t piece = writer_->format().piece.z;
        const index_t planes =
            std::max<index_t>(plane_group_bytes / plane_bytes / piece, 1) * piece;
        return std::min(planes, shape.z);
    }

    /// Returns JSON with the options and one object a line. It is made as text, since a tree of
    /// millions of objects would be large.
    std::string objects_text() const {
        Json facts = versioned_json();
        fill_phantom_json(facts, request_, *phantom_);
        std::string text = dump(facts);
        text.erase(text.find_last_not_of("}\n \t") + 1);
        text += ",\n  \"objects\": [";
        const char* separator = "\n    ";
        for (const PhantomObject& object : phantom_->objects()) {
            Json center;
            for (std::size_t axis = 0; axis < 3; ++axis)
                center.push_back(object.center_um[axis] /
                                 request_.options.voxel[static_cast<int>(axis)]);
            const Json json{{"kind", to_string(object.kind)}, {"center_um", object.center_um},
                            {"center_voxels", center},        {"radius_um", object.radius_um},
                            {"length_um", object.length_um},  {"brightness", object.brightness}};
            text += separator + json.dump();
            separator = ",\n    ";
        }
        return text + "\n  ]\n}\n";
    }

    const PhantomRequest& request_;
    std::optional<Phantom> phantom_;
    io::ImageMetadata output_metadata_;
    std::unique_ptr<io::ImageWriter> writer_;
    index_t clamped_ = 0;  ///< number of values that were too large for integers
};

PixelType parse_phantom_type(const std::string& text) {
    const PixelType type = parse_pixel_type(text);
    if (type != PixelType::float32 && type != PixelType::uint16)
        throw InvalidArgument(
            message("phantoms are float32 or uint16, not ", text, "; choose one of these"));
    return type;
}

/// Parses any whole number; the phantom checks how many objects it can have.
std::optional<index_t> parse_count(std::string_view option, const std::string& text) {
    const auto count = number_in<index_t>(text);
    if (!count)
        throw InvalidArgument(
            message(option, " is a whole number, not \"", text, "\"; correct it"));
    return count;
}

void add_specimen(CLI::App& app, PhantomRequest& request) {
    begin_group(app, groups::input);
    PhantomOptions& options = request.options;
    add_options(app, options, {"kind", "shape", "voxel", "seed"});
    app.get_option("--voxel")->each([&request](const std::string& text) {
        request.voxel_warning = voxel_size_warning("--voxel", text);
    });
    add_option_parsed_by(app, options, "count", parse_count);
    add_options(app, options, {"radius_um", "brightness", "brightness_spread", "background"});
}

void add_output(CLI::App& app, PhantomRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The phantom: .tif, .ome.tif, .h5, .h5:/dataset or .npy")
        ->required();
    add_value(app, "--objects", request.objects, "FILE", "List of the objects, as JSON");
    add_parsed(app, "--type", request.type, parse_phantom_type, "float32|uint16",
               "Pixel type; uint16 is rounded and clamped (default float32)");
    add_compression_option(app, request.create, "Compression of the output (default none)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_json_option(app, request.run);
    add_quiet_option(app, request.run);
    begin_group(app, groups::machine);
    add_threads_option(app, request.threads);
}

}  // namespace

void add_phantom_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "phantom", "Draw a specimen with known content: beads, filaments, shells, cells");
    auto request = std::make_shared<PhantomRequest>();
    set_examples(*command,
                 {"convolume phantom --kind cells --size 32,128,128 -o cells.tif",
                  "convolume phantom --kind beads --count 20 -o beads.tif --objects beads.json"});
    add_specimen(*command, *request);
    add_output(*command, *request);
    command->callback(
        [request, &action] { action = [request] { run_steps<PhantomSteps>(*request); }; });
}

}  // namespace convolume::cli
