// SPDX-License-Identifier: Apache-2.0
#include "core/option_names.hpp"

namespace convolume {

const char* to_string(EngineChoice::Device device) {
    return name_of(device);
}

EngineChoice::Device parse_device(std::string_view text) {
    if (const auto device = value_named<EngineChoice::Device>(text)) return *device;
    throw InvalidArgument(message("unknown device \"", text, "\": choose auto, cpu or gpu"));
}

}  // namespace convolume
