// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume preview`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/preview/channel_colors.hpp"
#include "cli/preview/command.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

GrayLimits parse_limits(std::string_view option, const std::string& text) {
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
    throw InvalidArgument(message(option,
                                  " takes LOW,HIGH with LOW below HIGH, e.g. 0,4095, not \"", text,
                                  "\"; correct it"));
}

// Refuses other extensions, which would name a format that the file does not have.
void check_is_png(const std::string& output) {
    if (!is_png(output))
        throw InvalidArgument(message("pictures are written as PNG, and \"", output,
                                      "\" does not end in .png; name it so"));
}

}  // namespace

void add_preview_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("preview", "Draw views of stacks along z, y and x as a PNG picture");
    auto request = std::make_shared<PreviewRequest>();
    set_examples(*command, {"convolume preview image.tif -o image.png",
                            "convolume preview image.tif --after restored.tif -o both.png"});
    command->option_defaults()->group(groups::output);
    command->add_option("STACK", request->stacks, "The images to draw, side by side")
        ->required()
        ->expected(1, 8);
    command
        ->add_option("--after", request->after, "One more image; titles then say before and after")
        ->type_name("STACK2");
    command
        ->add_option("--psf", request->psf,
                     "A PSF beside the images: its middle slices on a logarithmic scale")
        ->type_name("PSF");
    command->add_flag("--slices", request->slices,
                      "The planes through the middle instead of maximum projections");
    command->add_option("-o,--output", request->output, "The picture")
        ->required()
        ->type_name("PNG");
    command
        ->add_option("--scale", request->style.zoom, "Picture pixels for the smallest voxel side")
        ->check(CLI::PositiveNumber)
        ->type_name("PIXELS");
    CLI::Option* channel =
        command
            ->add_option(
                "--channel", request->channel,
                "This channel alone, by its number from 0 or its name, in gray (default: two to "
                "seven channels are merged in color; of more than seven, channel 0)")
            ->type_name("N|NAME");
    add_stack_option(*command, groups::input, request->stack);
    add_parsed(*command, "--color", request->colors, parse_channel_colors, "COLOR,…",
               "Colors of the channels: red, green, blue, cyan, magenta, yellow, orange, white, "
               "gray, none, or ff8000 (default: those of the file, else by the channels' names, "
               "else cyan, magenta, yellow, …)")
        ->excludes(channel);
    command->add_option("--frame", request->frame, "Time point, from 0 (default 0)")
        ->type_name("N");
    command->add_option("--gamma", request->style.gamma, "Gray = fraction^GAMMA (default 1)")
        ->check(CLI::PositiveNumber)
        ->type_name("GAMMA");
    add_parsed(*command, "--limits", request->limits, parse_limits, "LOW,HIGH",
               "Values drawn black and white (default: percentiles 1 and 99.9 of each stack)");
    command
        ->add_option("--log", request->decades,
                     "Logarithmic scale of this many decades (default: linear; PSF: 4)")
        ->check(CLI::PositiveNumber)
        ->excludes("--limits")
        ->type_name("DECADES");
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists");
    command->add_flag("-q,--quiet", request->quiet, "Only warnings and errors");
    command->callback([request, &action] {
        check_is_png(request->output);
        action = [request] { run_preview(*request); };
    });
}

}  // namespace convolume::cli
