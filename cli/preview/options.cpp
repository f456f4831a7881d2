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

void add_scale_bar_option(CLI::App& app, const char* group, PreviewStyle& style) {
    app.add_option_function<std::string>(
           "--scale-bar",
           [&style](const std::string& text) {
               style.bar_length_um = parse_bar_length("--scale-bar", text);
               style.scale_bar = style.bar_length_um.has_value();
           },
           "Length of the scale bar, such as 5um, or off (default: a round one)")
        ->type_name("LENGTH|off")
        ->group(group);
}

void add_picture_options(CLI::App& app, const char* group, PreviewRequest& request) {
    const auto grouped = [group](CLI::Option* option) { return option->group(group); };
    CLI::Option* slices = grouped(app.add_flag("--slices", request.slices,
                                               "The middle planes instead of maximum projections"));
    grouped(app.add_option_function<index_t>(
                   "--slice",
                   [&request](index_t plane) {
                       request.slices = true;
                       request.plane = plane;
                   },
                   "This plane along z, from 0; beside it, the middle planes along y and x")
                ->excludes(slices)
                ->type_name("N"));
    grouped(app.add_flag("--xy", request.style.xy_only,
                         "The view along z alone, without those along y and x"));
    grouped(add_parsed(app, "--lut", request.tables, parse_look_up_tables, "NAME,…",
                       "Look-up tables of the channels: gray, red, green, blue, cyan, magenta, "
                       "yellow, orange, white, fire, viridis, inferno, none, or ff8000 (default: "
                       "colors of the file, else by the channels' names, else cyan, magenta, …)"));
    CLI::Option* limits = grouped(
        add_parsed(app, "--limits", request.limits, parse_limits, "LOW,HIGH",
                   "Values drawn darkest and brightest (default: percentiles 1 and 99.9 of each "
                   "channel)"));
    grouped(add_parsed(app, "--gamma", request.style.gamma, parse_above_zero, "GAMMA",
                       "Brightness = fraction^GAMMA (default 1)"));
    grouped(add_parsed(app, "--log", request.decades, parse_above_zero, "DECADES",
                       "Logarithmic scale of this many decades (default: linear; PSF: 4)")
                ->excludes(limits));
    grouped(add_parsed(app, "--scale", request.style.zoom, parse_above_zero, "PIXELS",
                       "Picture pixels for the smallest voxel side"));
    add_scale_bar_option(app, group, request.style);
    grouped(app.add_option("--title", request.titles,
                           "Title of the first stack instead of its file name; again for the next")
                ->type_name("TEXT")
                ->allow_extra_args(false));
    grouped(app.add_flag("--light", request.style.light, "Dark text on white"));
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
    const char* group = groups::input;
    command
        ->add_option("--after", request->after, "One more image; titles then say before and after")
        ->type_name("STACK2")
        ->group(group);
    command
        ->add_option("--psf", request->psf,
                     "A PSF beside the images: its middle slices on a logarithmic scale")
        ->type_name("PSF")
        ->group(group);
    command
        ->add_option("--channel", request->channel,
                     "This channel alone, by its number from 0 or its name (default: two to seven "
                     "channels are merged; of more than seven, channel 0)")
        ->type_name("N|NAME")
        ->group(group);
    command->add_option("--frame", request->frame, "Time point, from 0 (default 0)")
        ->type_name("N")
        ->group(group);
    add_stack_option(*command, group, request->stack);
    add_picture_options(*command, "Picture", *request);
    group = groups::output;
    command->add_option("-o,--output", request->output, "The picture")
        ->required()
        ->type_name("PNG")
        ->group(group);
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists")
        ->group(group);
    command->add_flag("-q,--quiet", request->quiet, "Only warnings and errors")->group(group);
    command->callback([request, &action] {
        check_is_png(request->output);
        action = [request] { run_preview(*request); };
    });
}

}  // namespace convolume::cli
