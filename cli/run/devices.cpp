// SPDX-License-Identifier: Apache-2.0
#include "cli/run/devices.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

namespace convolume::cli {

namespace {

/// Whether the system lists an NVIDIA GPU, with or without a driver for it.
bool has_nvidia_gpu() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::exists("/dev/nvidiactl", error)) return true;  // also where PCI is not shown
    const auto first_word = [](const fs::path& path) {
        std::string word;
        std::ifstream(path) >> word;
        return word;
    };
    // Not by fs::directory_iterator, which ends the process where memory is refused.
    const fs::path folder = "/sys/bus/pci/devices";
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> devices(::opendir(folder.c_str()), close);
    if (!devices) return false;
    while (const dirent* const device = ::readdir(devices.get()))
        // PCI class 03 is displays and 3D controllers; NVIDIA also makes audio and bridges.
        if (first_word(folder / device->d_name / "vendor") == "0x10de" &&
            first_word(folder / device->d_name / "class").starts_with("0x03"))
            return true;
    return false;
}

}  // namespace

void parse_device(std::string_view text, EngineChoice& engines) {
    using Device = EngineChoice::Device;
    engines.gpus.clear();
    if (text == "auto") {
        engines.device = Device::automatic;
        return;
    }
    if (text == "cpu") {
        engines.device = Device::cpu;
        return;
    }
    const auto refuse = [text] {
        throw InvalidArgument(message("--device is auto, cpu, gpu or gpu:0,1,…, not \"", text,
                                      "\"; choose one of these"));
    };
    engines.device = Device::gpu;
    if (text == "gpu") return;
    if (!text.starts_with("gpu:")) refuse();
    std::string_view numbers = text.substr(4);
    while (true) {
        const std::string_view number = numbers.substr(0, numbers.find(','));
        int gpu = -1;
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), gpu);
        const bool repeated =
            std::find(engines.gpus.begin(), engines.gpus.end(), gpu) != engines.gpus.end();
        if (error != std::errc() || end != number.data() + number.size() || gpu < 0 || repeated)
            refuse();
        engines.gpus.push_back(gpu);
        if (number.size() == numbers.size()) return;
        numbers.remove_prefix(number.size() + 1);
    }
}

void warn_of_idle_gpu(const Console& console, const EngineChoice& engines) {
    const bool built_with_cuda = !cuda_runtime_version().empty();
    if (engines.device != EngineChoice::Device::automatic || !built_with_cuda) return;
    if (gpu_start_seconds() > 0) return;  // none was asked for
    const std::string why_not = gpu_unavailable();
    if (!why_not.empty() && has_nvidia_gpu())
        console.warning(message("computing on the CPU, since ", why_not));
}

}  // namespace convolume::cli
