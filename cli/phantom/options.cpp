// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume phantom`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/phantom/command.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

PixelType parse_phantom_type(const std::string& text) {
    const PixelType type = parse_pixel_type(text);
    if (type != PixelType::float32 && type != PixelType::uint16)
        throw InvalidArgument(
            message("phantoms are float32 or uint16, not ", text, "; choose one of these"));
    return type;
}

/// Parses any whole number; the phantom checks how many objects it can have.
std::optional<index_t> parse_count(std::string_view option, const std::string& text) {
    index_t count = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, count);
    if (parsed.ec != std::errc() || parsed.ptr != end)
        throw InvalidArgument(
            message(option, " is a whole number, not \"", text, "\"; correct it"));
    return count;
}

void add_specimen(CLI::App& app, PhantomRequest& request) {
    const char* group = groups::input;
    PhantomOptions& options = request.options;
    add_options(app, group, options, {"kind", "shape", "voxel", "seed"});
    app.get_option("--voxel")->each([&request](const std::string& text) {
        request.voxel_warning = voxel_size_warning("--voxel", text);
    });
    add_option_parsed_by(app, group, options, "count", parse_count);
    add_options(app, group, options,
                {"radius_um", "brightness", "brightness_spread", "background"});
}

void add_output(CLI::App& app, PhantomRequest& request) {
    const char* group = groups::output;
    app.add_option("-o,--output", request.output, "The phantom: " + io::usual_image_endings())
        ->type_name("OUT")
        ->required()
        ->group(group);
    app.add_option("--objects", request.objects, "List of the objects, as JSON")
        ->type_name("FILE")
        ->group(group);
    add_parsed(app, "--type", request.type, parse_phantom_type, "float32|uint16",
               "Pixel type; uint16 is rounded and clamped (default float32)")
        ->group(group);
    add_compression_option(app, group, request.create, "Compression of the output (default none)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_threads_option(app, groups::machine, request.threads);
    add_json_option(app, group, request.run);
    add_quiet_option(app, group, request.run);
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
