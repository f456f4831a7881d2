// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume preview`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/preview/command.hpp"
#include "cli/preview/look_up_table.hpp"
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

std::optional<double> parse_bar_length(std::string_view option, const std::string& text) {
    if (text == "off" || text == "none") return std::nullopt;
    const double length = parse_length_um(option, text);
    if (!(length > 0))
        throw InvalidArgument(message(option, " is off or a length above 0, not \"", text,
                                      "\"; give one such as 5um"));
    return length;
}

void add_scale_bar_option(CLI::App& app, PreviewStyle& style) {
    add_taken(
        app, "--scale-bar",
        [&style](const std::string& text) {
            style.bar_length_um = parse_bar_length("--scale-bar", text);
            style.scale_bar = style.bar_length_um.has_value();
        },
        "LENGTH|off", "Length of the scale bar, such as 5um, or off (default: a round one)");
}

void add_picture_options(CLI::App& app, PreviewRequest& request) {
    CLI::Option* slices = app.add_flag("--slices", request.slices,
                                       "The middle planes instead of maximum projections");
    add_value(app, "--slice", request.plane, "N",
              "This plane along z, from 0; beside it, the middle planes along y and x")
        ->excludes(slices);
    app.add_flag("--xy", request.style.xy_only,
                 "The view along z alone, without those along y and x");
    add_parsed(app, "--lut", request.tables, parse_look_up_tables, "NAME,…",
               "Look-up tables of the channels: gray, red, green, blue, cyan, magenta, "
               "yellow, orange, white, fire, viridis, inferno, none, or ff8000 (default: "
               "colors of the file, else by the channels' names, else cyan, magenta, …)");
    CLI::Option* limits =
        add_parsed(app, "--limits", request.limits, parse_limits, "LOW,HIGH",
                   "Values drawn darkest and brightest (default: percentiles 1 and 99.9 of each "
                   "channel)");
    add_parsed(app, "--gamma", request.style.gamma, parse_above_zero, "GAMMA",
               "Brightness = fraction^GAMMA (default 1)");
    CLI::Option* decades =
        add_parsed(app, "--log", request.decades, parse_above_zero, "DECADES",
                   "Logarithmic scale of this many decades (default: linear; PSF: 4)")
            ->excludes(limits);
    add_parsed(app, "--db", request.decibels, parse_above_zero, "RANGE",
               "Magnitudes in decibels, from the largest one down to this many below: for channels "
               "of signals")
        ->excludes(limits)
        ->excludes(decades);
    add_parsed(app, "--scale", request.style.zoom, parse_above_zero, "PIXELS",
               "Picture pixels for the smallest voxel side");
    add_scale_bar_option(app, request.style);
    add_value(app, "--title", request.titles, "TEXT",
              "Title of the first stack instead of its file name; again for the next")
        ->allow_extra_args(false);
    app.add_flag("--light", request.style.light, "Dark text on white");
}

}  // namespace

void add_preview_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("preview", "Draw views of stacks along z, y and x as a PNG picture");
    auto request = std::make_shared<PreviewRequest>();
    set_examples(*command, {"convolume preview image.tif -o image.png --lut fire",
                            "convolume preview image.tif --after restored.tif -o both.png"});
    command->add_option("STACK", request->stacks, "The images to draw, side by side")
        ->required()
        ->expected(1, 8);
    begin_group(*command, groups::input);
    add_value(*command, "--after", request->after, "STACK2",
              "One more image; titles then say before and after");
    add_value(*command, "--psf", request->psf, "PSF",
              "A PSF beside the images: its middle slices on a logarithmic scale");
    add_value(*command, "--channel", request->channel, "N|NAME",
              "This channel alone, by its number from 0 or its name (default: two to seven "
              "channels are merged; of more than seven, channel 0)");
    add_value(*command, "--frame", request->frame, "N", "Time point, from 0 (default 0)");
    add_stack_option(*command, request->stack);
    begin_group(*command, "Picture");
    add_picture_options(*command, *request);
    begin_group(*command, groups::output);
    add_value(*command, "-o,--output", request->output, "PNG", "The picture")->required();
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists");
    command->add_flag("-q,--quiet", request->quiet, "Only warnings and errors");
    command->callback([request, &action] {
        request->slices = request->slices || request->plane;
        if (request->decibels) request->decades = *request->decibels / 20;
        check_is_png(request->output);
        action = [request] { run_preview(*request); };
    });
}

}  // namespace convolume::cli
