// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.hpp"

#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "cli/picture/drawing.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

std::string simd_targets() {
    std::string names;
    for (auto targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
        if (!names.empty()) names += ' ';
        names += hwy::TargetName(targets & ~(targets - 1));
    }
    return names;
}

std::string compute_capability(const GpuDevice& device) {
    return message(device.compute_major, ".", device.compute_minor);
}

std::string gigabytes_a_second(double bytes_per_s) {
    return format_number(bytes_per_s / 1e9, 4) + " GB/s";
}

std::string describe(const GpuDevice& device) {
    std::string text = message(device.name, ", compute capability ", compute_capability(device),
                               ", ", format_bytes(device.memory_bytes), ", ",
                               format_bytes(device.free_bytes), " free, PCI ", device.bus_id);
    if (!device.usable) return message(text, "; not used: ", device.why_unusable);
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

void measure_bandwidth(GpuDiagnosis::MeasuredDevice& device) {
    try {
        device.bandwidth = measure_gpu_bandwidth(device.info.number);
    } catch (const std::exception& error) {
        device.not_measured = error.what();
    }
}

void record_transfer_gate(GpuDiagnosis& diagnosis) {
    std::vector<int> working;
    for (const GpuDiagnosis::MeasuredDevice& device : diagnosis.devices)
        if (device.bandwidth) working.push_back(device.info.number);
    if (working.empty()) return;
    try {
        diagnosis.gate = choose_transfer_gate(working);
    } catch (const std::exception& error) {
        diagnosis.devices.front().not_measured = error.what();
    }
}

}  // namespace

std::vector<Feature> built_features() {
    const std::string without_cuda = gpu_unavailable();
    return {
        {"TIFF", CONVOLUME_HAVE_TIFF ? "yes" : "no; install libtiff-dev and build again",
         CONVOLUME_HAVE_TIFF},
        {"HDF5", CONVOLUME_HAVE_HDF5 ? "yes" : "no; install libhdf5-dev and build again",
         CONVOLUME_HAVE_HDF5},
        {"WAV", CONVOLUME_HAVE_SNDFILE ? "yes" : "no; install libsndfile1-dev and build again",
         CONVOLUME_HAVE_SNDFILE},
        {"NPY", "yes", true},
        {"pictures",
         can_draw() ? "yes" : "no; install libcairo2-dev and fonts-dejavu-core and build again",
         can_draw()},
        {"FFT", describe_fft_libraries(), true},
        {"SIMD", simd_targets(), true},
        {"CUDA", without_cuda.empty() ? "yes" : without_cuda, without_cuda.empty()},
    };
}

int processor_count() {
    return static_cast<int>(std::thread::hardware_concurrency());
}

index_t total_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    index_t kib = 0;
    if (file >> key >> kib && key == "MemTotal:") return kib * 1024;
    return 0;
}

std::string cache_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return std::string(cache) + "/convolume";
    if (const char* home = std::getenv("HOME"); home && *home)
        return std::string(home) + "/.cache/convolume";
    return {};
}

double measure_copy_bandwidth(const HostResources& host) {
    const index_t buffer_bytes =
        std::clamp<index_t>(host.available_bytes / 8, index_t{1} << 20, index_t{256} << 20);
    const int threads = host.threads;
    Buffer source(buffer_bytes, "the bandwidth measurement");
    Buffer target(buffer_bytes, "the bandwidth measurement");
    source.touch(threads);
    target.touch(threads);
    double best_s = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 5; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        const auto copy = [&](int part) {
            const index_t share = ceil_div(buffer_bytes, threads);
            const index_t first = std::min(share * part, buffer_bytes);
            const index_t last = std::min(first + share, buffer_bytes);
            std::memcpy(target.as<char>() + first, source.as<char>() + first,
                        static_cast<std::size_t>(last - first));
        };
        {
            std::vector<std::jthread> team;
            for (int part = 1; part < threads; ++part) team.emplace_back(copy, part);
            copy(0);
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best_s = std::min(best_s, taken.count());
    }
    return 2 * static_cast<double>(buffer_bytes) / best_s;
}

GpuDiagnosis diagnose_gpus() {
    GpuDiagnosis diagnosis;
    diagnosis.unavailable = gpu_unavailable();
    diagnosis.driver = cuda_driver_version();
    diagnosis.runtime = cuda_runtime_version();
    for (const GpuDevice& device : gpu_devices()) {
        diagnosis.devices.push_back({device, {}, {}});
        if (device.usable) measure_bandwidth(diagnosis.devices.back());
    }
    record_transfer_gate(diagnosis);
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
    for (const GpuDiagnosis::MeasuredDevice& device : diagnosis.devices) {
        nlohmann::ordered_json entry{{"number", device.info.number},
                                     {"name", device.info.name},
                                     {"compute_capability", compute_capability(device.info)},
                                     {"usable", device.info.usable},
                                     {"memory_bytes", device.info.memory_bytes},
                                     {"free_bytes", device.info.free_bytes},
                                     {"pci", device.info.bus_id},
                                     {"peers", device.info.peers}};
        if (device.bandwidth)
            entry["bytes_per_s"] = {{"host_to_device", device.bandwidth->host_to_device},
                                    {"device_to_host", device.bandwidth->device_to_host},
                                    {"both", device.bandwidth->both},
                                    {"device_copy", device.bandwidth->device}};
        if (!device.not_measured.empty()) entry["not_measured"] = device.not_measured;
        json["devices"].push_back(std::move(entry));
    }
    if (diagnosis.gate && diagnosis.gate->all_uploads > 0)
        json["upload_bytes_per_s"] = {{"one", diagnosis.gate->one_upload},
                                      {"all", diagnosis.gate->all_uploads}};
    json["transfer_gate"] = or_null(diagnosis.gate ? to_string(diagnosis.gate->gate) : "");
    return json;
}

std::vector<std::pair<std::string, std::string>> report_lines(const GpuDiagnosis& diagnosis) {
    std::vector<std::pair<std::string, std::string>> lines;
    if (!diagnosis.runtime.empty())
        lines.emplace_back("CUDA versions",
                           message("runtime ", diagnosis.runtime, ", driver ",
                                   diagnosis.driver.empty() ? "none" : diagnosis.driver));
    for (const GpuDiagnosis::MeasuredDevice& device : diagnosis.devices) {
        lines.emplace_back(message("gpu:", device.info.number), describe(device.info));
        if (device.bandwidth) lines.emplace_back("", describe(*device.bandwidth));
        if (!device.not_measured.empty()) lines.emplace_back("", device.not_measured);
    }
    if (!diagnosis.gate) return lines;
    if (diagnosis.gate->all_uploads > 0)
        lines.emplace_back(
            "GPU uploads",
            message(gigabytes_a_second(diagnosis.gate->one_upload), " to one, ",
                    gigabytes_a_second(diagnosis.gate->all_uploads), " to all at once"));
    lines.emplace_back("transfer gate",
                       message("auto is ", to_string(diagnosis.gate->gate), " here"));
    return lines;
}

}  // namespace convolume::cli
