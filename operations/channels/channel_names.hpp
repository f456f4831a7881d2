// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels that users name: by their number in the file, from 0, or by their name.

#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume {

/// Channels of an image.
struct ChannelNames {
    std::vector<index_t> numbers;    ///< number in the file of each channel
    std::vector<std::string> names;  ///< name of each channel; may be empty
};

ChannelNames channels_of(const io::ImageMetadata& image);

/// Returns the number of the channel that `text` names: its number, its name, or its name in other
/// case if no other channel has that. Numbers come before names; `notes` then gets a note if
/// another channel has that name. Throws InvalidArgument, which lists the channels. `option` is
/// what the caller's users write, such as "--channel".
index_t find_channel(std::string_view option, const std::string& text, const ChannelNames& channels,
                     std::vector<std::string>& notes);

/// Splits "0,GFP" at its commas, unless all of `text` is the name of a channel.
std::vector<std::string> split_channels(const std::string& text, const ChannelNames& channels);

}  // namespace convolume
