// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/way.hpp"

#include <algorithm>

#include "cli/run/run.hpp"
#include "convolume/error.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

bool has_segments(const std::string& method) {
    return method.starts_with("overlap") || method == "partitioned";
}

}  // namespace

std::string Way::name() const {
    std::string text = message(device, ' ', method);
    if (parts > 0) text += message(' ', parts, parts == 1 ? " part" : " parts");
    if (segment > 0) text += message(" segment ", segment);
    text += message(' ', precision);
    if (threads > 0) text += message(' ', threads, threads == 1 ? " thread" : " threads");
    if (fft != FftLibrary::automatic) text += message(" fft ", to_string(fft));
    return text;
}

EngineChoice Way::engines() const {
    EngineChoice engines = parse_compared_device(device);
    engines.threads = threads;
    engines.fft = fft;
    return engines;
}

nlohmann::ordered_json to_json(const Way& way) {
    return {{"name", way.name()},     {"device", way.device},     {"method", way.method},
            {"parts", way.parts},     {"segment", way.segment},   {"precision", way.precision},
            {"threads", way.threads}, {"fft", to_string(way.fft)}};
}

std::vector<Way> combinations(const WayOptionLists& lists) {
    const std::vector<int> chosen_parts{0};
    const std::vector<index_t> chosen_segment{0};
    const std::vector<int> all_threads{0};
    const std::vector<FftLibrary> chosen_fft{FftLibrary::automatic};
    std::vector<Way> ways;
    for (const std::string& device : lists.devices)
        for (const std::string& method : lists.methods)
            for (const int parts : method == "dif" ? lists.parts : chosen_parts)
                for (const index_t segment : has_segments(method) ? lists.segments : chosen_segment)
                    for (const std::string& precision : lists.precisions)
                        for (const int threads : device == "cpu" ? lists.threads : all_threads)
                            for (const FftLibrary fft :
                                 device == "cpu" && method != "direct" ? lists.fft : chosen_fft)
                                ways.push_back(
                                    {device, method, parts, segment, precision, threads, fft});
    return ways;
}

std::vector<std::string> split_list(std::string_view option, const std::string& text) {
    std::vector<std::string> values;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string value(rest.substr(0, comma));
        if (value.empty())
            throw InvalidArgument(message(option,
                                          " is a list of values with commas between them, "
                                          "not \"",
                                          text, "\"; correct it"));
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
        if (comma == std::string_view::npos) return values;
        rest.remove_prefix(comma + 1);
    }
}

std::vector<index_t> parse_sizes(std::string_view option, const std::string& text) {
    std::vector<index_t> sizes;
    const auto refuse = [&] {
        throw InvalidArgument(message(option,
                                      " is a list of sizes from 1, such as 64,100,128 or "
                                      "64..512, not \"",
                                      text, "\"; correct it"));
    };
    // Larger images or signals fit no memory.
    constexpr index_t most = index_t{1} << 40;
    const auto size_of_text = [&](const std::string& part) {
        const index_t size = number_in<index_t>(part).value_or(0);
        if (size < 1 || size > most) refuse();
        return size;
    };
    for (const std::string& part : split_list(option, text)) {
        const std::size_t dots = part.find("..");
        const index_t first = size_of_text(part.substr(0, dots));
        const index_t last =
            dots == std::string::npos ? first : size_of_text(part.substr(dots + 2));
        if (last < first) refuse();
        for (index_t size = first; size <= last; size *= 2) sizes.push_back(size);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

EngineChoice parse_compared_device(const std::string& text) {
    EngineChoice engines;
    try {
        set_devices(engines, text);
    } catch (const InvalidArgument&) {
        throw InvalidArgument(message("--devices takes auto, cpu, gpu, gpu:0, gpu:0+1, …, not \"",
                                      text, "\"; correct it"));
    }
    return engines;
}

}  // namespace convolume::cli
