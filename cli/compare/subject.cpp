// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/subject.hpp"

#include "cli/run/run.hpp"

namespace convolume::cli {

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

EngineChoice engines_of(const Way& way) {
    EngineChoice engines = parse_compared_device(way.device);
    engines.threads = way.threads;
    return engines;
}

}  // namespace convolume::cli
