// SPDX-License-Identifier: Apache-2.0
#pragma once
// PSFs that vary with depth: files that are named with depths, and PSFs that are made for a range
// of depths.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "cli/images/image_request.hpp"

namespace convolume::cli {

/// Parses "0,10um" into the depths of the first and the last plane. Throws InvalidArgument.
std::array<double, 2> parse_depth_range_um(std::string_view option, const std::string& text);
/// Parses a number of PSFs from 2 to 8. Throws InvalidArgument.
int parse_depth_psfs(std::string_view option, const std::string& text);

/// Throws InvalidArgument if the options of a range of depths contradict each other or others.
void check_depth_range(const MadePsfRequest& request);

/// Returns the source of kernels that --psf names with depths, such as 5um=a.tif; nothing if none
/// is named so. Throws InvalidArgument if only some are, or if a channel has such a name.
std::optional<KernelSource> named_depths(const ImageRequest& request, const ChannelNames& channels);

/// Returns the source of the PSFs for a range of depths, whose first plane has the first depth and
/// whose last plane has the last one. Throws InvalidArgument if the image has one plane only.
KernelSource made_depths(const MadePsfRequest& request, const MadePsf& psf,
                         const ImageChannel& image);

}  // namespace convolume::cli
