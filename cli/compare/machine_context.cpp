// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/machine_context.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

#include "cli/app.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/run/report.hpp"
#include "convolume/engines.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

/// Resets VmHWM to the memory that is resident now. Returns true if the system did so.
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

MachineContext machine_context(bool use_gpus) {
    const HostResources host = host_resources();
    MachineContext context;
    nlohmann::ordered_json& json = context.json;
    json["processor"] = host.processor;
    json["processors"] = processor_count();
    json["threads"] = host.threads;
    json["thread_backend"] = host.thread_backend;
    json["memory_bytes"] = total_memory_bytes();
    json["memory_available_bytes"] = host.available_bytes;
    json["memory_limited_by"] = host.memory_limited_by;
    json["memory_copy_bytes_per_s"] = measure_copy_bandwidth(host);
    json["compiler"] = CONVOLUME_COMPILER;
    for (const Feature& feature : built_features())
        if (feature.name == "FFT" || feature.name == "SIMD" || feature.name == "CUDA")
            json["features"][feature.name] = feature.state;
    if (!use_gpus) return context;
    const GpuDiagnosis gpus = diagnose_gpus();
    json["gpus"] = to_json(gpus);
    for (const GpuDiagnosis::MeasuredDevice& device : gpus.devices)
        if (device.bandwidth) context.links[device.info.number] = *device.bandwidth;
    return context;
}

std::vector<int> gpus_of(const EngineChoice& engines) {
    if (engines.device == EngineChoice::Device::cpu || !gpu_unavailable().empty()) return {};
    if (!engines.gpus.empty()) return engines.gpus;
    std::vector<int> numbers;
    for (const GpuDevice& device : gpu_devices())
        if (device.usable) numbers.push_back(device.number);
    return numbers;
}

std::optional<double> least_transfer_s(const Traffic& traffic, const std::vector<int>& gpus,
                                       const GpuLinks& links) {
    GpuBandwidth sum;
    for (const int gpu : gpus) {
        const auto link = links.find(gpu);
        if (link == links.end()) return std::nullopt;
        sum.host_to_device += link->second.host_to_device;
        sum.device_to_host += link->second.device_to_host;
        sum.both += link->second.both;
    }
    const auto to = static_cast<double>(traffic.to_gpu_bytes);
    const auto from = static_cast<double>(traffic.from_gpu_bytes);
    if (to + from == 0 || sum.host_to_device <= 0 || sum.device_to_host <= 0 || sum.both <= 0)
        return std::nullopt;
    return std::max({to / sum.host_to_device, from / sum.device_to_host, (to + from) / sum.both});
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

MemoryProbe::MemoryProbe(std::vector<int> gpus)
    : gpus_(std::move(gpus)), gpu_free_(free_bytes(gpus_)) {
    reset_memory_peak();
    counted_before_ = memory_use().current_bytes;
    if (reset_resident_peak()) resident_before_ = process_status_bytes("VmRSS:");
}

index_t MemoryProbe::counted_bytes() const {
    return memory_use().peak_bytes - counted_before_;
}

std::optional<index_t> MemoryProbe::resident_bytes() const {
    const auto peak = process_status_bytes("VmHWM:");
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
