// SPDX-License-Identifier: Apache-2.0
#include "cli/images/depth_kernels.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

KernelSource in_order_of_depth(std::vector<KernelSource> sources) {
    std::stable_sort(
        sources.begin(), sources.end(),
        [](const KernelSource& a, const KernelSource& b) { return a.depth_um < b.depth_um; });
    KernelSource first = std::move(sources.front());
    first.deeper.assign(std::make_move_iterator(sources.begin() + 1),
                        std::make_move_iterator(sources.end()));
    return first;
}

}  // namespace

std::array<double, 2> parse_depth_range_um(std::string_view option, const std::string& text) {
    const std::vector<double> depths = parse_depths_um(option, text);
    // Made PSFs are not symmetric along z: higher planes are deeper.
    if (depths.size() != 2 || depths[0] >= depths[1])
        throw InvalidArgument(message(
            option, " takes two depths, of the first and of the deeper last plane, not \"", text,
            "\"; write them like 0,10um, and turn a stack whose first plane is the deepest"));
    return {depths[0], depths[1]};
}

int parse_depth_psfs(std::string_view option, const std::string& text) {
    constexpr int most = 8;
    if (text.size() != 1 || text[0] < '2' || text[0] > '0' + most)
        throw InvalidArgument(message(option, " takes a number of PSFs from 2 to ", most,
                                      ", not \"", text, "\"; 4 suffice in most cases"));
    return text[0] - '0';
}

void check_depth_range(const MadePsfRequest& request) {
    if (!request.depth_range_um) {
        if (request.depth_psfs)
            throw InvalidArgument(
                "--depth-psfs divides the depths of --depth-range; add it, as in --depth-range "
                "0,10um, or leave --depth-psfs out");
        return;
    }
    if (request.typed.contains("depth_um"))
        throw InvalidArgument(
            "--depth is one depth, and --depth-range several; leave out the one or the other");
    if (request.out_of_focus_um)
        throw InvalidArgument(
            "--depth-range is for stacks, and --out-of-focus for single planes; leave out the one "
            "or the other");
}

std::optional<KernelSource> named_depths(const ImageRequest& request,
                                         const ChannelNames& channels) {
    std::vector<KernelSource> sources;
    for (const ChannelKernel& kernel : request.channel_kernels) {
        const auto depth_um = length_um(kernel.channel);
        if (!depth_um) continue;
        for (const std::string& name : channels.names)
            if (name == kernel.channel)
                throw InvalidArgument(message("--psf ", kernel.channel,
                                              "=… names a channel or a depth; name the channel by "
                                              "its number, or the depth in another unit"));
        KernelSource& source = sources.emplace_back();
        source.path = kernel.path;
        source.depth_um = *depth_um;
    }
    if (sources.empty()) return {};
    if (sources.size() != request.channel_kernels.size() || !request.kernel.empty())
        throw InvalidArgument(
            "--psf names some kernels with a depth and some without; name the depth of each, as in "
            "--psf 0um=a.tif --psf 5um=b.tif");
    if (sources.size() == 1)
        throw InvalidArgument(
            "--psf names the PSF of one depth; name those of at least two, or leave the depth out");
    return in_order_of_depth(std::move(sources));
}

KernelSource made_depths(const MadePsfRequest& request, const MadePsf& psf,
                         const ImageChannel& image) {
    if (!has_layers(psf.options.model))
        throw InvalidArgument(message("--depth-range changes nothing in the model ",
                                      to_string(psf.options.model),
                                      ", which has no layers; leave it out, or choose gibson-lanni "
                                      "or vectorial"));
    const index_t planes = image.metadata.shape.z;
    if (planes < 2)
        throw InvalidArgument(message("--depth-range is for stacks, and \"", image.path,
                                      "\" has one plane; give its depth as --depth"));
    const auto [first, last] = *request.depth_range_um;
    const int count = request.depth_psfs.value_or(default_depth_psfs);
    const double reach_um = static_cast<double>(planes - 1) * psf.options.voxel.z_um;
    std::vector<KernelSource> sources;
    for (int k = 0; k < count; ++k) {
        const double share = static_cast<double>(k) / (count - 1);
        auto made = std::make_shared<MadePsf>(psf);
        made->options.depth_um = first + share * (last - first);
        KernelSource& source = sources.emplace_back();
        source.psf = std::move(made);
        source.depth_um = share * reach_um;
    }
    return in_order_of_depth(std::move(sources));
}

}  // namespace convolume::cli
