// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/way.hpp"

#include "convolume/error.hpp"

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
    return text;
}

std::vector<Way> combinations(const WayLists& lists) {
    const std::vector<int> chosen_parts{0};
    const std::vector<index_t> chosen_segment{0};
    const std::vector<int> all_threads{0};
    std::vector<Way> ways;
    for (const std::string& device : lists.devices)
        for (const std::string& method : lists.methods)
            for (const int parts : method == "dif" ? lists.parts : chosen_parts)
                for (const index_t segment : has_segments(method) ? lists.segments : chosen_segment)
                    for (const std::string& precision : lists.precisions)
                        for (const int threads : device == "cpu" ? lists.threads : all_threads)
                            ways.push_back({device, method, parts, segment, precision, threads});
    return ways;
}

}  // namespace convolume::cli
