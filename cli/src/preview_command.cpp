// `convolume preview`: projections of stacks as a PNG.

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "app.hpp"
#include "console.hpp"
#include "convolume/image_file.hpp"
#include "format.hpp"
#include "option_help.hpp"
#include "output_path.hpp"
#include "preview_picture.hpp"
#include "slabs.hpp"

namespace convolume::cli {

namespace {

struct PreviewRequest {
    std::string stack;
    std::string after;
    std::string output;
    index_t channel = 0;
    index_t frame = 0;
    PreviewStyle style;
    std::optional<GreyLimits> limits;
    bool overwrite = false;
    bool quiet = false;
};

GreyLimits parse_limits(const std::string& text) {
    std::size_t comma = 0;
    std::size_t end = 0;
    try {
        const double low = std::stod(text, &comma);
        if (comma < text.size() && text[comma] == ',') {
            const double high = std::stod(text.substr(comma + 1), &end);
            if (comma + 1 + end == text.size() && low < high) return {low, high};
        }
    } catch (const std::exception&) {
        // Falls through to the message below.
    }
    throw InvalidArgument(
        message("--limits takes LOW,HIGH with LOW below HIGH, e.g. 0,4095, not \"", text,
                "\"; correct it"));
}

void check_number(const char* option, index_t asked, index_t available, const std::string& path) {
    if (asked < 0 || asked >= available)
        throw InvalidArgument(message(option, ' ', asked, " was asked of \"", path,
                                      "\", which has ", available, "; choose from 0 to ",
                                      available - 1));
}

// Distances of samples; where only z is unknown it is taken to be that of x.
void take_steps(const io::ImageMetadata& metadata, PreviewStack& stack) {
    const auto& size = metadata.voxel_size_um;
    if (!size[1] || !size[2] || !(*size[1] > 0) || !(*size[2] > 0)) return;
    const double z = size[0] && *size[0] > 0 ? *size[0] : *size[2];
    stack.step = {z, *size[1], *size[2]};
    stack.unit = "µm";
}

PreviewStack load(const std::string& role, const std::string& path, const PreviewRequest& request) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    check_number("--channel", request.channel, metadata.channels, path);
    check_number("--frame", request.frame, metadata.frames, path);
    const std::string name = std::filesystem::path(path).filename().string();
    PreviewStack stack{role + name,
                       message(to_string(metadata.shape), ' ', name_of(metadata.type), ", ",
                               format_voxel_size(metadata.voxel_size_um)),
                       Projections(metadata.shape)};
    for_each_slab(*reader, request.frame, request.channel,
                  [&stack](const ConstImageView& slab, index_t z_begin) {
                      stack.projections.add(slab, z_begin);
                  });
    take_steps(metadata, stack);
    stack.limits = request.limits.value_or(percentile_limits(stack.projections.along_z, 1, 99.9));
    return stack;
}

void run_preview(const PreviewRequest& request) {
    check_output_path(request.output, request.overwrite);
    const bool pair = !request.after.empty();
    std::vector<PreviewStack> stacks;
    stacks.push_back(load(pair ? "before: " : "", request.stack, request));
    if (pair) stacks.push_back(load("after: ", request.after, request));
    const std::vector<char> png = draw_preview(stacks, request.style).png();
    write_whole_file(request.output, png);
    const Console console(std::cerr, request.quiet ? Verbosity::quiet : Verbosity::normal,
                          stderr_wants_colors());
    for (const PreviewStack& stack : stacks)
        console.fact("grey", message(stack.title, ": black ", format_number(stack.limits.low),
                                     ", white ", format_number(stack.limits.high)));
    console.fact("output", request.output);
}

}  // namespace

void add_preview_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("preview", "Draw maximum projections along z, y and x as a PNG picture");
    auto request = std::make_shared<PreviewRequest>();
    command->add_option("STACK", request->stack, "The image to draw")->required();
    command->add_option("--after", request->after, "A second image, drawn beside the first")
        ->type_name("STACK2");
    command->add_option("-o,--output", request->output, "The picture")
        ->required()
        ->type_name("PNG");
    command
        ->add_option("--scale", request->style.zoom, "Picture pixels for the smallest voxel side")
        ->check(CLI::PositiveNumber)
        ->type_name("PIXELS");
    command->add_option("--channel", request->channel, "Channel, from 0 (default 0)")
        ->type_name("N");
    command->add_option("--frame", request->frame, "Time point, from 0 (default 0)")
        ->type_name("N");
    command->add_option("--gamma", request->style.gamma, "Grey = fraction^GAMMA (default 1)")
        ->check(CLI::PositiveNumber)
        ->type_name("GAMMA");
    add_parsed(*command, "--limits", request->limits, parse_limits, "LOW,HIGH",
               "Values drawn black and white (default: percentiles 1 and 99.9 of each stack)");
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists");
    command->add_flag("-q,--quiet", request->quiet, "Only warnings and errors");
    command->callback([request, &action] { action = [request] { run_preview(*request); }; });
}

}  // namespace convolume::cli
