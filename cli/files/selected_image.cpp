// SPDX-License-Identifier: Apache-2.0
#include "cli/files/selected_image.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

struct SelectedRange {
    index_t begin;
    index_t end;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

[[noreturn]] void refuse(const char* option, std::string_view text, const char* cure) {
    throw InvalidArgument(message(option, " is \"", text, "\"; ", cure));
}

index_t parse_index(const char* option, std::string_view all, std::string_view text,
                    const char* cure) {
    const index_t value = number_in<index_t>(text).value_or(-1);
    if (value < 0) refuse(option, all, cure);
    return value;
}

/// Parses "3:10", "3:", ":10" or ":" within [0, extent).
SelectedRange parse_range(const char* option, std::string_view all, std::string_view text,
                          index_t extent, const std::string& what, const char* cure) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) refuse(option, all, cure);
    const std::string_view from = text.substr(0, colon), to = text.substr(colon + 1);
    const SelectedRange range{from.empty() ? 0 : parse_index(option, all, from, cure),
                              to.empty() ? extent : parse_index(option, all, to, cure)};
    if (range.begin >= range.end || range.end > extent)
        throw InvalidArgument(message(option, " asks for ", what, " ", range.begin, ":", range.end,
                                      " of an image that has ", extent,
                                      "; the first is 0, the end is not included"));
    return range;
}

}  // namespace

SelectedImage::SelectedImage(std::unique_ptr<io::ImageReader> whole,
                             const ImageSelection& selection)
    : whole_(std::move(whole)), metadata_(whole_->metadata()) {
    for (index_t c = 0; c < metadata_.channels; ++c) channels_.push_back(c);
    if (!selection.channels.empty()) choose_channels(selection.channels);
    if (!selection.frames.empty()) choose_frames(selection.frames);
    if (!selection.crop.empty()) crop(selection.crop);
    if (!selection.voxel.empty()) {
        const auto sizes = parse_lengths_um("--voxel", selection.voxel);
        for (std::size_t a = 0; a < 3; ++a) metadata_.voxel_size_um[a] = sizes[a];
        metadata_.unit = "um";
        if (const std::string doubt = voxel_size_warning("--voxel", selection.voxel);
            !doubt.empty())
            metadata_.notes.push_back(doubt);
    }
}

StackFormat SelectedImage::format() const {
    StackFormat format = whole_->format();
    format.shape = metadata_.shape;
    format.frames = metadata_.frames;
    format.channels = metadata_.channels;
    return format;
}

void SelectedImage::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    check_box(format(), t, c, box, target);
    const NonfiniteSample::Location first = place_in_file({box.begin, t, c});
    whole_->read_box(
        first.frame, first.channel,
        {first.index, {box.end.z + origin_.z, box.end.y + origin_.y, box.end.x + origin_.x}},
        target);
}

NonfiniteSample::Location SelectedImage::place_in_file(
    const NonfiniteSample::Location& place) const {
    const Index3& at = place.index;
    return {{at.z + origin_.z, at.y + origin_.y, at.x + origin_.x},
            place.frame + first_frame_,
            channels_[static_cast<std::size_t>(place.channel)],
            whole_->format().volumes() > 1};
}

void SelectedImage::choose_channels(const std::string& text) {
    const ChannelNames known = channels_of(metadata_);
    channels_.clear();
    for (const std::string& one : split_channels(text, known))
        channels_.push_back(find_channel("--channel", one, known, metadata_.notes));
    const auto keep = [this](auto& list) {
        const auto all = std::exchange(list, {});
        if (all.empty()) return;
        for (const index_t c : channels_) list.push_back(all[static_cast<std::size_t>(c)]);
    };
    keep(metadata_.channel_names);
    keep(metadata_.channel_colors);
    keep(metadata_.microscope.channels);
    metadata_.channels = static_cast<index_t>(channels_.size());
    io::keep_lookup_tables(metadata_, channels_);
    drop_descriptions();
}

void SelectedImage::choose_frames(const std::string& text) {
    constexpr const char* cure = "give a frame from 0, or the first and the end, as in 0:10";
    SelectedRange range;
    if (text.find(':') == std::string::npos) {
        const index_t frame = parse_index("--frame", text, text, cure);
        range = parse_range("--frame", text, message(frame, ":", frame + 1), metadata_.frames,
                            "frames", cure);
    } else {
        range = parse_range("--frame", text, text, metadata_.frames, "frames", cure);
    }
    first_frame_ = range.begin;
    metadata_.frames = range.end - range.begin;
    drop_descriptions();
}

void SelectedImage::crop(const std::string& text) {
    constexpr const char* cure = "give z0:z1,y0:y1,x0:x1, for example 0:32,100:300,:";
    const auto parts = split(text, ',');
    if (parts.size() != 3) refuse("--crop", text, cure);
    for (int a = 0; a < 3; ++a) {
        const SelectedRange range =
            parse_range("--crop", text, parts[static_cast<std::size_t>(a)], metadata_.shape[a],
                        message("samples along ", axis_name(a)), cure);
        origin_[a] = range.begin;
        metadata_.shape[a] = range.end - range.begin;
    }
    drop_descriptions();
}

void SelectedImage::drop_descriptions() {
    metadata_.ome_xml.clear();
    metadata_.imagej_description.clear();
    std::vector<index_t> all(static_cast<std::size_t>(metadata_.channels));
    std::iota(all.begin(), all.end(), index_t{0});
    io::keep_lookup_tables(metadata_, all);
}

void add_selection_options(CLI::App& app, ImageSelection& selection) {
    add_value(
        app, "--axes", selection.axes, "AXES",
        "Meaning of the image's axes, slowest first, e.g. TYX, if the file does not say or is "
        "wrong");
    add_value(app, "--image", selection.image, "N|NAME",
              "Which image of a file with several, by its number from 0 or its name (default: the "
              "first)");
    add_value(app, "--channel", selection.channels, "N|NAME,…",
              "Only these channels, by their numbers from 0 or their names (default all)");
    add_value(app, "--frame", selection.frames, "N|BEGIN:END",
              "Only these times, from 0 (default all)");
    add_value(app, "--crop", selection.crop, "Z0:Z1,Y0:Y1,X0:X1",
              "Only this box, ends not included; \":\" is a whole axis");
    add_value(app, "--voxel", selection.voxel, "Z,Y,X",
              "Edges of a voxel with their unit, if the file does not say or is wrong");
    add_stack_option(app, selection.stack);
}

void add_stack_option(CLI::App& app, std::string& stack) {
    add_value(app, "--stack", stack, "z|t|c",
              "Read the files of a folder, pattern or list as one image: its planes (z), times "
              "(t) or channels (c), in the order of the numbers in their names; templates such "
              "as 'img_t{t}_c{c}_z{z}.tif' need no option");
}

std::unique_ptr<SelectedImage> open_selected(const std::string& path,
                                             const ImageSelection& selection) {
    return std::make_unique<SelectedImage>(io::open_image(path, selection.open_options()),
                                           selection);
}

}  // namespace convolume::cli
