// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/memory_probe.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "convolume/engines.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

/// A line of /proc/self/status, in bytes.
std::optional<index_t> status_bytes(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (index_t kib = 0; word == name && status >> kib) return kib * 1024;
    return std::nullopt;
}

/// Makes VmHWM start again from what is resident now. Whether the system did.
bool reset_resident_peak() {
    std::ofstream clear_refs("/proc/self/clear_refs");
    clear_refs << "5" << std::flush;
    return clear_refs.good();
}

std::vector<index_t> free_bytes(const std::vector<int>& gpus) {
    std::vector<index_t> bytes;
    if (gpus.empty()) return bytes;
    for (const GpuDevice& device : gpu_devices())
        if (std::find(gpus.begin(), gpus.end(), device.number) != gpus.end())
            bytes.push_back(device.free_bytes);
    return bytes;
}

}  // namespace

MemoryProbe::MemoryProbe(std::vector<int> gpus)
    : gpus_(std::move(gpus)), gpu_free_(free_bytes(gpus_)) {
    reset_memory_peak();
    counted_before_ = memory_use().current_bytes;
    if (reset_resident_peak()) resident_before_ = status_bytes("VmRSS:");
}

index_t MemoryProbe::counted_bytes() const {
    return memory_use().peak_bytes - counted_before_;
}

std::optional<index_t> MemoryProbe::resident_bytes() const {
    const auto peak = status_bytes("VmHWM:");
    if (!resident_before_ || !peak) return std::nullopt;
    return std::max<index_t>(0, *peak - *resident_before_);
}

std::optional<index_t> MemoryProbe::held_gpu_bytes() const {
    std::optional<index_t> most;
    const std::vector<index_t> now = free_bytes(gpus_);
    for (std::size_t i = 0; i < std::min(now.size(), gpu_free_.size()); ++i)
        most = std::max(most.value_or(0), gpu_free_[i] - now[i]);
    return most;
}

}  // namespace convolume::cli
