// SPDX-License-Identifier: Apache-2.0
#include "cli/preview/command.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

#include "cli/files/volumes.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/console.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "operations/channels/channel_names.hpp"

namespace convolume::cli {

namespace {

void check_number(const char* option, index_t asked, index_t available, const std::string& path) {
    if (asked < 0 || asked >= available)
        throw InvalidArgument(message(option, ' ', asked, " does not exist in \"", path,
                                      "\", which has ", available, "; choose from 0 to ",
                                      available - 1));
}

OrthogonalViews views_of(io::ImageReader& reader, index_t channel, const PreviewRequest& request) {
    const Shape3 shape = reader.metadata().shape;
    const auto read_into = [&](auto views) -> OrthogonalViews {
        for_each_plane_group(reader, request.frame, channel,
                             [&views](const ConstImageView& planes, index_t z_begin) {
                                 views.add(planes, z_begin);
                             });
        return views;
    };
    if (!request.slices) return read_into(Projections(shape));
    return read_into(Slices(shape, request.plane.value_or(shape.z / 2)));
}

GrayLimits scale_by_decades(OrthogonalViews& views, double decades) {
    replace_by_logarithm(views);
    double high = std::numeric_limits<double>::lowest();
    for (const FloatPlane* plane : {&views.along_z, &views.along_y, &views.along_x})
        for (const float value : plane->values)
            if (std::isfinite(value)) high = std::max(high, static_cast<double>(value));
    return {high - decades, high};
}

// Largest number of channels whose colors can be told apart.
constexpr index_t max_merged_channels = 7;

struct ChosenChannel {
    index_t number;
    LookUpTable table;
};

std::vector<ChosenChannel> chosen_channels(const io::ImageMetadata& image, const std::string& path,
                                           const PreviewRequest& request) {
    const auto given = static_cast<index_t>(request.tables.size());
    const bool one = !request.channel.empty();
    if (given > (one ? 1 : image.channels))
        throw InvalidArgument(message("--lut names ", given, " look-up tables, but ",
                                      one ? "--channel draws one channel"
                                          : message("\"", path, "\" has ", image.channels,
                                                    image.channels == 1 ? " channel" : " channels"),
                                      "; leave the others out"));
    const auto table_of = [&](index_t c, const LookUpTable& usual) {
        return c < given ? request.tables[static_cast<std::size_t>(c)] : usual;
    };
    std::vector<ChosenChannel> chosen;
    const auto choose = [&](index_t c, const std::optional<LookUpTable>& table) {
        if (table) chosen.push_back({c, *table});
    };
    if (one) {
        std::vector<std::string> notes;
        choose(find_channel("--channel", request.channel, channels_of(image), notes),
               table_of(0, gray_table()));
    } else if (given == 0 && (image.channels == 1 || image.channels > max_merged_channels)) {
        choose(0, gray_table());
    } else {
        const std::vector<Color> usual = colors_of_channels(image);
        for (index_t c = 0; c < image.channels; ++c)
            choose(c, table_of(c, LookUpTable(usual[static_cast<std::size_t>(c)])));
    }
    if (chosen.empty())
        throw InvalidArgument("--lut leaves every channel out; give one a look-up table");
    return chosen;
}

std::string name_of(const io::ImageMetadata& image, index_t channel) {
    const auto at = static_cast<std::size_t>(channel);
    const bool named = at < image.channel_names.size() && !image.channel_names[at].empty();
    return named ? image.channel_names[at] : message("channel ", channel);
}

/// Returns a text such as "32×128×128 uint16, maximum projections".
std::string caption_of(const io::ImageMetadata& image, const PreviewRequest& request) {
    if (image.shape.z == 1)
        return message(image.shape.y, "×", image.shape.x, ' ', to_string(image.type));
    return message(to_string(image.shape), ' ', to_string(image.type),
                   !request.slices  ? std::string(", maximum projection")
                   : !request.plane ? std::string(", middle planes")
                                    : message(", plane ", *request.plane));
}

/// Stretches the shorter side of an image without voxel sizes that is longer than a picture can
/// show true to scale, such as a bank of signals.
void stretch_short_side(const io::ImageMetadata& image, PreviewStack& stack) {
    constexpr double most_aspect = 8;
    if (stack.unit == "µm") return;
    const auto height = static_cast<double>(image.shape.y);
    const auto width = static_cast<double>(image.shape.x);
    const double factor = std::max(height, width) / (most_aspect * std::min(height, width));
    if (factor <= 1) return;
    stack.step[height < width ? 1 : 2] = factor;
    stack.captions.back() += message("; drawn ", format_number(factor, 2), " times as ",
                                     height < width ? "high" : "wide");
}

PreviewStack load(const Console& console, const std::string& title, const std::string& path,
                  const PreviewRequest& request) {
    const auto reader = io::open_image(path, {.stack = request.stack});
    const io::ImageMetadata& metadata = reader->metadata();
    console.warnings(note_warnings(path, metadata));
    const std::vector<ChosenChannel> chosen = chosen_channels(metadata, path, request);
    check_number("--frame", request.frame, metadata.frames, path);
    if (request.plane) check_number("--slice", *request.plane, metadata.shape.z, path);
    PreviewStack stack{
        title, {caption_of(metadata, request), format_voxel_size(metadata.voxel_size_um)}, {}};
    for (const ChosenChannel& one : chosen) {
        PreviewChannel channel{views_of(*reader, one.number, request)};
        channel.table = one.table;
        if (chosen.size() > 1) channel.channel_name = name_of(metadata, one.number);
        channel.limits =
            request.decades
                ? scale_by_decades(channel.views, *request.decades)
                : request.limits.value_or(percentile_limits(channel.views.along_z, 1, 99.9));
        stack.channels.push_back(std::move(channel));
    }
    set_sample_distances(metadata, stack);
    if (request.stack.empty()) show_frequencies(path, stack);
    stretch_short_side(metadata, stack);
    if (request.style.bar_length_um && stack.unit != "µm")
        throw InvalidArgument(message("--scale-bar is a length, but \"", path,
                                      "\" has no voxel size; set it by convolume convert --voxel, "
                                      "or give --scale-bar off"));
    stack.logarithmic = request.decades.has_value();
    stack.in_decibels = request.decibels.has_value();
    return stack;
}

// Loads the PSF for a logarithmic scale, on which its rings and flanks are visible.
PreviewStack load_psf(const Console& console, const std::string& title,
                      const PreviewRequest& request) {
    PreviewRequest of_psf = request;
    of_psf.channel = "0";
    of_psf.frame = 0;
    of_psf.tables.clear();
    of_psf.slices = true;
    of_psf.plane.reset();
    of_psf.style.bar_length_um.reset();
    of_psf.decades = request.decades.value_or(4);
    of_psf.decibels.reset();
    PreviewStack stack = load(console, title, request.psf, of_psf);
    stack.own_zoom = true;
    return stack;
}

std::string levels_text(const PreviewStack& stack, const PreviewChannel& channel) {
    const double factor = stack.in_decibels ? 20 : 1;
    return message(stack.title, channel.channel_name.empty() ? "" : ", ", channel.channel_name,
                   channel.table.is_ramp() ? ": black " : ": lowest ",
                   format_number(factor * channel.limits.low), ", ",
                   channel.table.is_ramp() ? channel.table.name : "highest", ' ',
                   format_number(factor * channel.limits.high),
                   stack.in_decibels   ? " dB"
                   : stack.logarithmic ? ", powers of ten"
                                       : "");
}

/// Returns the paths of the images, without the PSF.
std::vector<std::string> images_of(const PreviewRequest& request) {
    std::vector<std::string> paths = request.stacks;
    if (!request.after.empty()) paths.push_back(request.after);
    return paths;
}

/// Returns the titles of all stacks: those of --title, then file names.
std::vector<std::string> titles_of(const PreviewRequest& request) {
    std::vector<std::string> titles;
    for (const std::string& path : images_of(request)) {
        const bool is_after = titles.size() == request.stacks.size();
        titles.push_back(message(request.after.empty() ? ""
                                 : is_after            ? "after: "
                                                       : "before: ",
                                 std::filesystem::path(path).filename().string()));
    }
    if (!request.psf.empty())
        titles.push_back(std::filesystem::path(request.psf).filename().string());
    if (request.titles.size() > titles.size())
        throw InvalidArgument(message("there are ", request.titles.size(), " times --title, but ",
                                      titles.size(), titles.size() == 1 ? " stack" : " stacks",
                                      "; give one for each stack at most"));
    std::copy(request.titles.begin(), request.titles.end(), titles.begin());
    return titles;
}

}  // namespace

void set_sample_distances(const io::ImageMetadata& metadata, PreviewStack& stack) {
    const auto& size = metadata.voxel_size_um;
    if (!size[1] || !size[2] || !(*size[1] > 0) || !(*size[2] > 0)) return;
    const double z = size[0] && *size[0] > 0 ? *size[0] : *size[2];
    stack.step = {z, *size[1], *size[2]};
    stack.unit = "µm";
}

void run_preview(const PreviewRequest& request) {
    const Console console(std::cerr, request.quiet ? Verbosity::quiet : Verbosity::normal,
                          stderr_wants_colors());
    require_drawing();
    check_output_path(request.output, request.overwrite);
    const std::vector<std::string> titles = titles_of(request);
    std::vector<PreviewStack> stacks;
    for (const std::string& path : images_of(request))
        stacks.push_back(load(console, titles[stacks.size()], path, request));
    if (!request.psf.empty()) stacks.push_back(load_psf(console, titles.back(), request));
    const std::vector<char> png = draw_preview(stacks, request.style).png();
    io::write_whole_file(request.output, png);
    for (const PreviewStack& stack : stacks)
        for (const PreviewChannel& channel : stack.channels)
            console.fact(channel.table == gray_table() ? "gray"
                         : channel.table.is_ramp()     ? "color"
                                                       : channel.table.name,
                         levels_text(stack, channel));
    console.fact("output", request.output);
}

}  // namespace convolume::cli
