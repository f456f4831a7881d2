// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that users name for the channels of an image.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/channels/channel_names.hpp"

namespace convolume {

/// A kernel for one channel, or the PSF of one depth.
struct ChannelKernel {
    /// Number in the file, from 0, or name, or a depth such as "5um"; empty for the next channel,
    /// or for all that are not named.
    std::string channel;
    std::string path;
};

/// Parses "a.tif", "DAPI=a.tif" or "0=a.tif,1=b.tif" in each text. Names of files may have commas.
/// `option` is what the caller's users write, such as "--psf". Throws InvalidArgument, also if
/// several kernels have no channel and others have one, or if a channel is named twice.
std::vector<ChannelKernel> parse_channel_kernels(std::string_view option,
                                                 const std::vector<std::string>& texts);

/// Kernels that a user names, and the channel of each.
struct KernelChannels {
    std::string_view option;         ///< what users write, such as "--psf"
    std::string image;               ///< name of the image; may be empty
    std::vector<std::string> named;  ///< number or name of the channel of each kernel
    bool others_are_made = false;    ///< whether a kernel is computed for channels without one
    std::string more_cure;           ///< end of the sentence on a wrong number of kernels
};

/// Returns for each channel the index of its kernel in `kernels.named`. Kernels without a channel
/// are those of all channels in their order, but a single one is for all channels that no other
/// names. Throws InvalidArgument if a channel has two kernels, or none unless these are made.
std::vector<std::optional<std::size_t>> kernels_of_channels(const KernelChannels& kernels,
                                                            const ChannelNames& channels);

}  // namespace convolume
