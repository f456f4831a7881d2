// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume diff`: lines for people, JSON for programs.

#include "cli/run/report.hpp"

#include <cmath>

#include "cli/diff/command.hpp"
#include "cli/diff/difference.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

using nlohmann::ordered_json;

namespace {

bool voxels_differ(const io::ImageMetadata& a, const io::ImageMetadata& b) {
    constexpr double least_difference = 0.01;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto &p = a.voxel_size_um[axis], &q = b.voxel_size_um[axis];
        if (p && q && std::abs(*p - *q) > least_difference * *p) return true;
    }
    return false;
}

ordered_json number_or_null(const std::optional<double>& value) {
    return value ? finite_or_null(*value) : ordered_json();
}

}  // namespace

void DiffSteps::tell_plan(const Facts& facts) const {
    const Console& console = facts.console;
    facts.json["first"] = to_json(request_.first, a_);
    facts.json["second"] = to_json(request_.second, b_);
    for (const auto& [path, image] : {std::pair(&request_.first, &a_), {&request_.second, &b_}}) {
        console.fact("image", message(*path, ": ", one_line(*image)));
        warn_of_notes(console, *path, *image);
        if (image->scaling)
            console.fact("values", message(scaling_text(*image->scaling), ", which is applied"));
    }
    if (voxels_differ(a_, b_))
        console.warning(
            message("the images have other voxels (", format_voxel_size(a_.voxel_size_um), " and ",
                    format_voxel_size(b_.voxel_size_um), "); they are compared sample by sample"));
}

std::string DiffSteps::place_text(index_t channel) const {
    const ImageDifference::Sample& largest =
        channels_[static_cast<std::size_t>(channel)].sums.largest;
    const NonfiniteSample::Location place =
        first_->place_in_file({largest.index, largest.t, channel});
    const Index3& at = place.index;
    return message("z,y,x ", at.z, ",", at.y, ",", at.x,
                   place.of_several ? message(", channel ", place.channel, ", time ", place.frame)
                                    : std::string());
}

std::string DiffSteps::range_text(const ChannelDifference& channel) const {
    const std::string range = format_number(channel.range);
    switch (request_.range.kind) {
        case RangeRule::Kind::number:
            return message("range ", range);
        case RangeRule::Kind::type:
            return message("range ", range, " of ", to_string(a_.type));
        case RangeRule::Kind::image:
            break;
    }
    return message("range ", range, ": ", format_number(channel.low), " to ",
                   format_number(channel.high), " of ", request_.first);
}

std::string DiffSteps::channel_text(index_t number) const {
    const auto c = static_cast<std::size_t>(number);
    const ChannelDifference& channel = channels_[c];
    const ImageDifference& sums = channel.sums;
    std::string text;
    const auto add = [&](const char* label, const std::string& value) {
        text += message(label, ": ", value, "\n");
    };
    if (a_.channels > 1)
        add("channel",
            message(number, c < a_.channel_names.size() ? " (" + a_.channel_names[c] + ")"
                                                        : std::string()));
    add("different", message(sums.different, " of ", sums.samples, " samples"));
    add("largest difference",
        sums.different == 0 ? "0"
                            : message(format_number(sums.largest.difference), " at ",
                                      place_text(number), " (", format_number(sums.largest.first),
                                      " and ", format_number(sums.largest.second), ")"));
    add("RMS", format_number(sums.rms()));
    const std::optional<double> psnr = sums.psnr(channel.range);
    if (sums.different == 0)
        add("PSNR", "infinite, since the images are equal");
    else
        add("PSNR", psnr ? message(format_number(*psnr, 4), " dB (", range_text(channel), ")")
                         : message("none, since all values of ", request_.first, " are equal"));
    const std::optional<double> ssim = sums.ssim();
    add("SSIM", ssim               ? format_number(*ssim, 4)
                : sums.windows > 0 ? "none, since the range is 0 or values are not finite"
                                   : message("none, since planes are smaller than ", ssim_window,
                                             "×", ssim_window));
    return text;
}

void DiffSteps::tell_output(const Facts& facts) const {
    if (picture_) facts.console.fact("picture", request_.picture);
    if (facts.console.quiet() || request_.run.json) return;
    std::string text;
    for (index_t c = 0; c < a_.channels; ++c) text += channel_text(c);
    write_stdout(text);
}

void DiffSteps::tell_result(const Facts& facts) const {
    ordered_json& json = facts.json;
    json["channels"] = ordered_json::array();
    for (index_t c = 0; c < a_.channels; ++c) {
        const ChannelDifference& channel = channels_[static_cast<std::size_t>(c)];
        const ImageDifference& sums = channel.sums;
        const auto place = first_->place_in_file({sums.largest.index, sums.largest.t, c});
        ordered_json one;
        one["channel"] = place.channel;
        one["samples"] = sums.samples;
        one["different"] = sums.different;
        one["largest_difference"] = finite_or_null(sums.largest.difference);
        one["largest_at"] = ordered_json();
        if (sums.different > 0)
            one["largest_at"] = {{"frame", place.frame},
                                 {"index", {place.index.z, place.index.y, place.index.x}},
                                 {"first", finite_or_null(sums.largest.first)},
                                 {"second", finite_or_null(sums.largest.second)}};
        one["rms"] = finite_or_null(sums.rms());
        one["range"] = channel.range;
        one["psnr_db"] = number_or_null(sums.psnr(channel.range));
        one["ssim"] = number_or_null(sums.ssim());
        json["channels"].push_back(one);
    }
}

}  // namespace convolume::cli
