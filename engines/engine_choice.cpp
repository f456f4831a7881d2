// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"
#include "convolume/error.hpp"

namespace convolume {

const char* to_string(EngineChoice::Device device) {
    switch (device) {
        case EngineChoice::Device::automatic:
            return "auto";
        case EngineChoice::Device::cpu:
            return "cpu";
        case EngineChoice::Device::gpu:
            return "gpu";
    }
    throw InternalError("a device outside its enumeration");
}

EngineChoice::Device parse_device(std::string_view text) {
    using Device = EngineChoice::Device;
    for (const Device device : {Device::automatic, Device::cpu, Device::gpu})
        if (text == to_string(device)) return device;
    throw InvalidArgument(message("unknown device \"", text, "\": choose auto, cpu or gpu"));
}

}  // namespace convolume
