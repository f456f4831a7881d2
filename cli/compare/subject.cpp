// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/subject.hpp"

#include <algorithm>

#include "cli/run/devices.hpp"

namespace convolume::cli {

EngineChoice parse_compared_device(const std::string& text) {
    const auto refuse = [&text] {
        throw InvalidArgument(message("--devices takes auto, cpu, gpu, gpu:0, gpu:0+1, …, not \"",
                                      text, "\"; correct it"));
    };
    EngineChoice engines;
    std::string with_commas = text;
    std::replace(with_commas.begin(), with_commas.end(), '+', ',');
    try {
        parse_device(with_commas, engines);
    } catch (const InvalidArgument&) {
        refuse();
    }
    return engines;
}

EngineChoice engines_of(const Way& way) {
    EngineChoice engines = parse_compared_device(way.device);
    engines.threads = way.threads;
    return engines;
}

}  // namespace convolume::cli
