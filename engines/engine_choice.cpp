// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"

namespace convolume {

namespace {

/// Numbers of GPUs, "0,1" or "0+1"; none if the text is anything else or repeats one.
std::vector<int> parse_gpus(std::string_view text) {
    std::vector<int> gpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        int gpu = -1;
        const auto [next, error] = std::from_chars(at, end, gpu);
        const bool repeated = std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
        if (error != std::errc() || gpu < 0 || repeated) return {};
        gpus.push_back(gpu);
        if (next == end) return gpus;
        if (*next != ',' && *next != '+') return {};
        at = next + 1;
    }
}

}  // namespace

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

void set_devices(EngineChoice& engines, std::string_view text) {
    using Device = EngineChoice::Device;
    constexpr std::string_view several = "gpu:";
    std::vector<int> gpus;
    if (text.starts_with(several)) gpus = parse_gpus(text.substr(several.size()));
    if (!gpus.empty()) {
        engines.device = Device::gpu;
        engines.gpus = std::move(gpus);
        return;
    }
    for (const Device device : {Device::automatic, Device::cpu, Device::gpu})
        if (text == to_string(device)) {
            engines.device = device;
            engines.gpus.clear();
            return;
        }
    throw InvalidArgument(
        message("there is no device \"", text, "\": choose auto, cpu, gpu, gpu:0 or gpu:0,1"));
}

}  // namespace convolume
