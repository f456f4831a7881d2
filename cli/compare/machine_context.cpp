// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/machine_context.hpp"

#include <algorithm>
#include <ctime>

#include "cli/app.hpp"
#include "cli/doctor/gpu_diagnosis.hpp"
#include "cli/doctor/machine.hpp"

namespace convolume::cli {

MachineContext machine_context(bool use_gpus) {
    const HostResources host = host_resources();
    MachineContext context;
    nlohmann::ordered_json& json = context.json;
    json["processor"] = host.processor;
    json["processors"] = processor_count();
    json["threads"] = host.threads;
    json["memory_bytes"] = total_memory_bytes();
    json["memory_available_bytes"] = host.available_bytes;
    json["memory_limited_by"] = host.memory_limited_by;
    constexpr index_t most_bytes = index_t{256} << 20;
    json["memory_copy_bytes_per_s"] = measure_copy_bandwidth(
        std::clamp<index_t>(host.available_bytes / 8, 1 << 20, most_bytes), host.threads);
    json["compiler"] = CONVOLUME_COMPILER;
    for (const Feature& feature : built_features())
        if (feature.name == "FFT" || feature.name == "SIMD" || feature.name == "CUDA")
            json["features"][feature.name] = feature.state;
    if (!use_gpus) return context;
    const GpuDiagnosis gpus = diagnose_gpus();
    json["gpus"] = to_json(gpus);
    for (const GpuDiagnosis::Device& device : gpus.devices)
        if (device.bandwidth) context.links[device.facts.number] = *device.bandwidth;
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

}  // namespace convolume::cli
