// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/architectures.hpp"

#include <charconv>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {

// Whether code for one architecture, such as "90-real" or "90a", runs on a device.
bool runs_on(std::string_view architecture, int major, int minor) {
    int number = 0;
    const char* const end = architecture.data() + architecture.size();
    const auto [rest, status] = std::from_chars(architecture.data(), end, number);
    if (status != std::errc()) return false;
    const std::string_view kind(rest, static_cast<std::size_t>(end - rest));
    const int device = 10 * major + minor;
    if (kind.substr(0, 1) == "a") return number == device;  // code for one architecture alone
    if (number > device) return false;
    const bool has_virtual_code = kind.empty() || kind == "-virtual";
    return has_virtual_code || number / 10 == major;
}

}  // namespace

bool has_code_for(std::string_view architectures, int major, int minor) {
    while (!architectures.empty()) {
        const std::size_t end = architectures.find(',');
        if (runs_on(architectures.substr(0, end), major, minor)) return true;
        if (end == std::string_view::npos) return false;
        architectures.remove_prefix(end + 1);
    }
    return false;
}

std::string why_unusable(const std::string& name, std::string_view architectures, int major,
                         int minor) {
    if (10 * major + minor < 75)
        return message(name, " has compute capability ", major, ".", minor,
                       " and is too old: convolume needs 7.5 or later");
    if (has_code_for(architectures, major, minor)) return {};
    return message(name, " has compute capability ", major, ".", minor,
                   ", and this build has code only for ", architectures, ": add ", major, minor,
                   " to CMAKE_CUDA_ARCHITECTURES and build again, or use the CPU");
}

}  // namespace convolume::gpu
