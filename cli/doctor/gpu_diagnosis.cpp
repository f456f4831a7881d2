// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/gpu_diagnosis.hpp"

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

// As the engines decide: uploads side by side that bring less than this share a link.
constexpr double worthwhile_gain = 1.15;

std::string compute_capability(const GpuDevice& device) {
    return message(device.compute_major, ".", device.compute_minor);
}

std::string gigabytes_a_second(double bytes_per_s) {
    return format_number(bytes_per_s / 1e9, 4) + " GB/s";
}

std::string describe(const GpuDevice& device) {
    std::string text = message(device.name, ", compute capability ", compute_capability(device),
                               device.usable ? ", " : " (too old: 7.5 is needed), ",
                               format_bytes(device.memory_bytes), ", ",
                               format_bytes(device.free_bytes), " free, PCI ", device.bus_id);
    if (!device.peers.empty()) text += ", reaches";
    for (const int peer : device.peers) text += message(" gpu:", peer);
    return text;
}

std::string describe(const GpuBandwidth& bandwidth) {
    return message("host to device ", gigabytes_a_second(bandwidth.host_to_device),
                   ", device to host ", gigabytes_a_second(bandwidth.device_to_host), ", both ",
                   gigabytes_a_second(bandwidth.both), "; copy on the device ",
                   gigabytes_a_second(bandwidth.device), ", read plus written");
}

void measure(GpuDiagnosis::Device& device) {
    try {
        device.bandwidth = measure_gpu_bandwidth(device.facts.number);
    } catch (const std::exception& error) {
        device.not_measured = error.what();
    }
}

void choose_gate(GpuDiagnosis& diagnosis) {
    std::vector<int> working;
    for (const GpuDiagnosis::Device& device : diagnosis.devices)
        if (device.bandwidth) working.push_back(device.facts.number);
    if (working.empty()) return;
    diagnosis.gate = TransferGate::per_link;
    if (working.size() == 1) return;
    try {
        diagnosis.one_upload = measure_concurrent_upload({working.front()});
        diagnosis.all_uploads = measure_concurrent_upload(working);
        if (diagnosis.all_uploads < worthwhile_gain * diagnosis.one_upload)
            diagnosis.gate = TransferGate::global;
    } catch (const std::exception& error) {
        diagnosis.gate.reset();
        diagnosis.devices.front().not_measured = error.what();
    }
}

}  // namespace

GpuDiagnosis diagnose_gpus() {
    GpuDiagnosis diagnosis;
    diagnosis.unavailable = gpu_unavailable();
    diagnosis.driver = cuda_driver_version();
    diagnosis.runtime = cuda_runtime_version();
    for (const GpuDevice& facts : gpu_devices()) {
        diagnosis.devices.push_back({facts, {}, {}});
        if (facts.usable) measure(diagnosis.devices.back());
    }
    choose_gate(diagnosis);
    return diagnosis;
}

nlohmann::ordered_json to_json(const GpuDiagnosis& diagnosis) {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
    };
    nlohmann::ordered_json json{{"unavailable", or_null(diagnosis.unavailable)},
                                {"driver", or_null(diagnosis.driver)},
                                {"runtime", or_null(diagnosis.runtime)},
                                {"devices", nlohmann::ordered_json::array()}};
    for (const GpuDiagnosis::Device& device : diagnosis.devices) {
        nlohmann::ordered_json entry{{"number", device.facts.number},
                                     {"name", device.facts.name},
                                     {"compute_capability", compute_capability(device.facts)},
                                     {"usable", device.facts.usable},
                                     {"memory_bytes", device.facts.memory_bytes},
                                     {"free_bytes", device.facts.free_bytes},
                                     {"pci", device.facts.bus_id},
                                     {"peers", device.facts.peers}};
        if (device.bandwidth)
            entry["bytes_per_s"] = {{"host_to_device", device.bandwidth->host_to_device},
                                    {"device_to_host", device.bandwidth->device_to_host},
                                    {"both", device.bandwidth->both},
                                    {"device_copy", device.bandwidth->device}};
        if (!device.not_measured.empty()) entry["not_measured"] = device.not_measured;
        json["devices"].push_back(std::move(entry));
    }
    if (diagnosis.all_uploads > 0)
        json["upload_bytes_per_s"] = {{"one", diagnosis.one_upload},
                                      {"all", diagnosis.all_uploads}};
    json["transfer_gate"] = or_null(diagnosis.gate ? to_string(*diagnosis.gate) : "");
    return json;
}

std::vector<std::pair<std::string, std::string>> facts_of(const GpuDiagnosis& diagnosis) {
    std::vector<std::pair<std::string, std::string>> facts;
    if (!diagnosis.runtime.empty())
        facts.emplace_back("CUDA versions",
                           message("runtime ", diagnosis.runtime, ", driver ",
                                   diagnosis.driver.empty() ? "none" : diagnosis.driver));
    for (const GpuDiagnosis::Device& device : diagnosis.devices) {
        facts.emplace_back(message("gpu:", device.facts.number), describe(device.facts));
        if (device.bandwidth) facts.emplace_back("", describe(*device.bandwidth));
        if (!device.not_measured.empty()) facts.emplace_back("", device.not_measured);
    }
    if (diagnosis.all_uploads > 0)
        facts.emplace_back("GPU uploads",
                           message(gigabytes_a_second(diagnosis.one_upload), " to one, ",
                                   gigabytes_a_second(diagnosis.all_uploads), " to all at once"));
    if (diagnosis.gate)
        facts.emplace_back("transfer gate",
                           message("auto is ", to_string(*diagnosis.gate), " here"));
    return facts;
}

}  // namespace convolume::cli
