// SPDX-License-Identifier: Apache-2.0
#include "operations/channels/channel_names.hpp"

#include <algorithm>
#include <numeric>

#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume {

namespace {

/// Returns the positions of the channels whose name, changed by `change`, is that of `text`.
template <class Change>
std::vector<std::size_t> named(const std::string& text, const ChannelNames& channels,
                               const Change& change) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < channels.names.size(); ++i)
        if (change(channels.names[i]) == change(text)) found.push_back(i);
    return found;
}

/// Returns a list such as "0 (DAPI), 1 (GFP)".
std::string list_of(const ChannelNames& channels) {
    std::string text;
    for (std::size_t i = 0; i < channels.numbers.size(); ++i) {
        text += message(text.empty() ? "" : ", ", channels.numbers[i]);
        if (i < channels.names.size() && !channels.names[i].empty())
            text += " (" + channels.names[i] + ")";
    }
    return text;
}

}  // namespace

ChannelNames channels_of(const io::ImageMetadata& image) {
    ChannelNames channels{std::vector<index_t>(static_cast<std::size_t>(image.channels)),
                          image.channel_names};
    std::iota(channels.numbers.begin(), channels.numbers.end(), index_t{0});
    return channels;
}

index_t find_channel(std::string_view option, const std::string& text, const ChannelNames& channels,
                     std::vector<std::string>& notes) {
    auto found = named(text, channels, [](const std::string& name) { return name; });
    if (found.empty()) found = named(text, channels, lower_case);
    const auto& numbers = channels.numbers;
    const auto number = number_in<index_t>(text);
    if (number && std::find(numbers.begin(), numbers.end(), *number) != numbers.end()) {
        if (!found.empty() && channels.numbers[found.front()] != *number)
            notes.push_back(message(option, ' ', text,
                                    " is the channel of that number, counted from "
                                    "0; the one of that name is number ",
                                    channels.numbers[found.front()]));
        return *number;
    }
    if (found.size() == 1) return channels.numbers[found.front()];
    throw InvalidArgument(message(
        option, " names channel \"", text, "\", ",
        found.empty() ? "but the channels are " : "a name that several of the channels have: ",
        list_of(channels), "; give a number, from 0, or a name"));
}

std::vector<std::string> split_channels(const std::string& text, const ChannelNames& channels) {
    if (std::find(channels.names.begin(), channels.names.end(), text) != channels.names.end())
        return {text};
    std::vector<std::string> parts{""};
    for (const char letter : text) {
        if (letter == ',')
            parts.emplace_back();
        else
            parts.back() += letter;
    }
    return parts;
}

}  // namespace convolume
