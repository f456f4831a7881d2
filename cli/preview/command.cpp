// SPDX-License-Identifier: Apache-2.0
#include "cli/preview/command.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>
#include <vector>

#include "cli/files/result_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/console.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

void check_number(const char* option, index_t asked, index_t available, const std::string& path) {
    if (asked < 0 || asked >= available)
        throw InvalidArgument(message(option, ' ', asked, " does not exist in \"", path,
                                      "\", which has ", available, "; choose from 0 to ",
                                      available - 1));
}

// Sets the distances of samples. If only the one along z is unknown, it becomes the one along x.
void set_sample_distances(const io::ImageMetadata& metadata, PreviewStack& stack) {
    const auto& size = metadata.voxel_size_um;
    if (!size[1] || !size[2] || !(*size[1] > 0) || !(*size[2] > 0)) return;
    const double z = size[0] && *size[0] > 0 ? *size[0] : *size[2];
    stack.step = {z, *size[1], *size[2]};
    stack.unit = "µm";
}

template <class Views>
OrthogonalViews views_of(io::ImageReader& reader, index_t frame, index_t channel) {
    Views views(reader.metadata().shape);
    for_each_plane_group(
        reader, frame, channel,
        [&views](const ConstImageView& planes, index_t z_begin) { views.add(planes, z_begin); });
    return views;
}

GrayLimits scale_by_decades(OrthogonalViews& views, double decades) {
    replace_by_logarithm(views);
    double high = percentile_limits(views.along_z, 0, 100).high;
    for (const FloatPlane* plane : {&views.along_y, &views.along_x})
        high = std::max(high, percentile_limits(*plane, 0, 100).high);
    return {high - decades, high};
}

constexpr Color gray_scale{255, 255, 255};

// Largest number of channels whose colors can be told apart.
constexpr index_t max_merged_channels = 7;

struct ChosenChannel {
    index_t number;
    Color color;
};

std::vector<ChosenChannel> chosen_channels(const io::ImageMetadata& image, const std::string& path,
                                           const PreviewRequest& request) {
    const auto given = static_cast<index_t>(request.colors.size());
    if (given > image.channels)
        throw InvalidArgument(
            message("--color names ", given, " colors, but \"", path, "\" has ", image.channels,
                    image.channels == 1 ? " channel" : " channels", "; leave the others out"));
    if (request.channel) {
        check_number("--channel", *request.channel, image.channels, path);
        return {{*request.channel, gray_scale}};
    }
    if (given == 0 && (image.channels == 1 || image.channels > max_merged_channels))
        return {{0, gray_scale}};
    const std::vector<Color> usual = colors_of_channels(image);
    std::vector<ChosenChannel> chosen;
    for (index_t c = 0; c < image.channels; ++c) {
        const auto at = static_cast<std::size_t>(c);
        const ChannelColor color = c < given ? request.colors[at] : usual[at];
        if (color) chosen.push_back({c, *color});
    }
    if (chosen.empty()) throw InvalidArgument("--color leaves every channel out; give one a color");
    return chosen;
}

std::string name_of(const io::ImageMetadata& image, index_t channel) {
    const auto at = static_cast<std::size_t>(channel);
    const bool named = at < image.channel_names.size() && !image.channel_names[at].empty();
    return named ? image.channel_names[at] : message("channel ", channel);
}

PreviewStack load(const Console& console, const std::string& role, const std::string& path,
                  const PreviewRequest& request) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    warn_of_notes(console, path, metadata);
    const std::vector<ChosenChannel> chosen = chosen_channels(metadata, path, request);
    check_number("--frame", request.frame, metadata.frames, path);
    const std::string name = std::filesystem::path(path).filename().string();
    PreviewStack stack{role + name,
                       {message(to_string(metadata.shape), ' ', to_string(metadata.type)),
                        format_voxel_size(metadata.voxel_size_um)},
                       {}};
    for (const ChosenChannel& one : chosen) {
        PreviewChannel channel{request.slices
                                   ? views_of<MiddleSlices>(*reader, request.frame, one.number)
                                   : views_of<Projections>(*reader, request.frame, one.number)};
        channel.color = one.color;
        if (chosen.size() > 1) channel.channel_name = name_of(metadata, one.number);
        channel.limits =
            request.decades
                ? scale_by_decades(channel.views, *request.decades)
                : request.limits.value_or(percentile_limits(channel.views.along_z, 1, 99.9));
        stack.channels.push_back(std::move(channel));
    }
    set_sample_distances(metadata, stack);
    stack.logarithmic = request.decades.has_value();
    return stack;
}

// Loads the PSF for a logarithmic scale, on which its rings and flanks are visible.
PreviewStack load_psf(const Console& console, const PreviewRequest& request) {
    PreviewRequest of_psf = request;
    of_psf.channel = of_psf.frame = 0;
    of_psf.colors.clear();
    of_psf.slices = true;
    of_psf.decades = request.decades.value_or(4);
    PreviewStack stack = load(console, "", request.psf, of_psf);
    stack.own_zoom = true;
    return stack;
}

std::string levels_text(const PreviewStack& stack, const PreviewChannel& channel) {
    return message(stack.title, channel.channel_name.empty() ? "" : ", ", channel.channel_name,
                   ": black ", format_number(channel.limits.low), ", ", text_of(channel.color), ' ',
                   format_number(channel.limits.high), stack.logarithmic ? ", powers of ten" : "");
}

}  // namespace

void run_preview(const PreviewRequest& request) {
    const Console console(std::cerr, request.quiet ? Verbosity::quiet : Verbosity::normal,
                          stderr_wants_colors());
    check_output_path(request.output, request.overwrite);
    const bool pair = !request.after.empty();
    std::vector<PreviewStack> stacks;
    for (const std::string& path : request.stacks)
        stacks.push_back(load(console, pair ? "before: " : "", path, request));
    if (pair) stacks.push_back(load(console, "after: ", request.after, request));
    if (!request.psf.empty()) stacks.push_back(load_psf(console, request));
    const std::vector<char> png = draw_preview(stacks, request.style).png();
    io::write_whole_file(request.output, png);
    for (const PreviewStack& stack : stacks)
        for (const PreviewChannel& channel : stack.channels)
            console.fact(channel.color == gray_scale ? "gray" : "color",
                         levels_text(stack, channel));
    console.fact("output", request.output);
}

}  // namespace convolume::cli
