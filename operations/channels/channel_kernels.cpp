// SPDX-License-Identifier: Apache-2.0
#include "operations/channels/channel_kernels.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "convolume/error.hpp"
#include "core/text.hpp"
#include "operations/number_text.hpp"

namespace convolume {

namespace {

/// Splits "12=name" or "DAPI=name" into channel and name. Returns false if `text` is not like that.
bool split_channel(const std::string& text, ChannelKernel& kernel) {
    const auto equal = text.find('=');
    if (equal == 0 || equal == std::string::npos || text.find('/') < equal) return false;
    kernel = {text.substr(0, equal), text.substr(equal + 1)};
    return true;
}

bool names_existing_file(const std::string& path) {
    std::error_code unreadable;
    return std::filesystem::exists(io::parse_path(path).file, unreadable);
}

std::vector<ChannelKernel> parse_one(std::string_view option, const std::string& text) {
    constexpr const char* cure =
        "; give a kernel for each channel, for example 0=a.tif,1=b.tif or DAPI=a.tif";
    if (text.empty()) throw InvalidArgument(message(option, " is empty", cure));
    if (names_existing_file(text)) return {{"", text}};
    std::vector<ChannelKernel> kernels;
    for (const std::string& piece : pieces_of(text, ',')) {
        ChannelKernel kernel;
        if (split_channel(piece, kernel))
            kernels.push_back(kernel);
        else if (kernels.empty())
            return {{"", text}};
        else
            kernels.back().path += "," + piece;  // the comma belongs to the name
    }
    for (const ChannelKernel& kernel : kernels)
        if (kernel.path.empty())
            throw InvalidArgument(
                message(option, " names no file for channel ", kernel.channel, cure));
    return kernels;
}

[[noreturn]] void refuse_twice(std::string_view option, const std::string& channel) {
    throw InvalidArgument(message(option, " names ", channel, " twice; name one kernel for it"));
}

}  // namespace

std::vector<ChannelKernel> parse_channel_kernels(std::string_view option,
                                                 const std::vector<std::string>& texts) {
    std::vector<ChannelKernel> all;
    std::set<std::string> named;
    for (const std::string& text : texts)
        for (ChannelKernel& kernel : parse_one(option, text)) {
            if (!kernel.channel.empty() && !named.insert(kernel.channel).second)
                refuse_twice(option, kernel.channel);
            all.push_back(std::move(kernel));
        }
    if (!named.empty() && all.size() > named.size() + 1)
        throw InvalidArgument(message(option,
                                      " names some kernels with their channel and several without; "
                                      "name the channel of each, as in ",
                                      option, " DAPI=a.tif"));
    return all;
}

std::vector<std::optional<std::size_t>> kernels_of_channels(const KernelChannels& kernels,
                                                            const ChannelNames& channels) {
    const auto& [option, name, named, others_are_made, more_cure] = kernels;
    const std::string image = name_or(name, "the image");
    const std::size_t count = channels.numbers.size();
    std::vector<std::optional<std::size_t>> found(count);
    const auto unnamed = std::count(named.begin(), named.end(), "");
    if (unnamed > 1 && named.size() != count)
        throw InvalidArgument(message(
            image, " has ", count, count == 1 ? " channel" : " channels", ", but ", named.size(),
            " kernels are named; name one for all channels, or one for each", more_cure));
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < named.size(); ++i) {
        if (unnamed == 1 && named[i].empty()) continue;
        std::size_t at = i;
        if (!named[i].empty()) {
            const index_t number = find_channel(option, named[i], channels, notes);
            at = static_cast<std::size_t>(
                std::find(channels.numbers.begin(), channels.numbers.end(), number) -
                channels.numbers.begin());
        }
        if (found[at]) refuse_twice(option, named[i]);
        found[at] = i;
    }
    const auto common = std::find(named.begin(), named.end(), "");
    for (std::size_t c = 0; c < count; ++c) {
        if (found[c]) continue;
        if (unnamed == 1)
            found[c] = static_cast<std::size_t>(common - named.begin());
        else if (!others_are_made)
            throw InvalidArgument(message("there is no kernel for channel ", channels.numbers[c],
                                          " of ", image, ": name one for it by ", option,
                                          ", or one for all channels that are not named"));
    }
    return found;
}

}  // namespace convolume
