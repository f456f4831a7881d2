// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "convolume/engines.hpp"
#include "core/option_names.hpp"

namespace convolume {

namespace {

/// Parses numbers of GPUs, "0,1" or "0+1". Returns none for other texts and repeated numbers.
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

CONVOLUME_TO_STRING(EngineChoice::Device)

EngineChoice::Device parse_device(std::string_view text) {
    if (const auto device = value_named<EngineChoice::Device>(text)) return *device;
    throw InvalidArgument(message("unknown device \"", text, "\": choose auto, cpu or gpu"));
}

CONVOLUME_NAMES(FftLibrary, parse_fft_library, parse_name, "the library of transforms is ")

CONVOLUME_NAMES(TransferGate, parse_transfer_gate, parse_name, "the transfer gate is ")

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
