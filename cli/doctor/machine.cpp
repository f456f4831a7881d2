// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.hpp"

#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cli/picture/drawing.hpp"
#include "cli/run/report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/cache_folder.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string simd_targets() {
    std::string names;
    for (auto targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
        if (!names.empty()) names += ' ';
        names += hwy::TargetName(targets & ~(targets - 1));
    }
    return names;
}

/// Returns the file formats, FFT library, SIMD targets and devices of this build. The state is
/// "yes", a version, or one sentence: what is missing, and how to get it.
Json features_json() {
    Json features;
    const auto add = [&features](const char* name, const std::string& state, bool present) {
        features[name] = {{"present", present}, {"state", state}};
    };
    const auto add_library = [&](const char* name, bool present, const char* packages) {
        add(name, present ? "yes" : message("no; install ", packages, " and build again"), present);
    };
    add_library("TIFF", CONVOLUME_HAVE_TIFF, "libtiff-dev");
    add_library("HDF5", CONVOLUME_HAVE_HDF5, "libhdf5-dev");
    add_library("WAV", CONVOLUME_HAVE_SNDFILE, "libsndfile1-dev");
    add("NPY", "yes", true);
    add_library("pictures", can_draw(), "libcairo2-dev and fonts-dejavu-core");
    add("FFT", describe_fft_libraries(), true);
    add("SIMD", simd_targets(), true);
    const std::string without_cuda = gpu_unavailable();
    add("CUDA", without_cuda.empty() ? "yes" : without_cuda, without_cuda.empty());
    return features;
}

index_t total_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    index_t kib = 0;
    if (file >> key >> kib && key == "MemTotal:") return kib * 1024;
    return 0;
}

/// Measures the bytes that all threads together read and write per second when they copy memory.
double measure_copy_bandwidth(const HostResources& host) {
    const index_t buffer_bytes =
        std::clamp<index_t>(host.available_bytes / 8, index_t{1} << 20, index_t{256} << 20);
    Buffer source(buffer_bytes, "the bandwidth measurement");
    Buffer target(buffer_bytes, "the bandwidth measurement");
    source.touch(host.threads);
    target.touch(host.threads);
    const index_t share = ceil_div(buffer_bytes, host.threads);
    double best_s = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 5; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        parallel_for(host.threads, host.threads, [&](index_t part, int) {
            const index_t first = std::min(share * part, buffer_bytes);
            const index_t last = std::min(first + share, buffer_bytes);
            std::memcpy(target.as<char>() + first, source.as<char>() + first,
                        static_cast<std::size_t>(last - first));
        });
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best_s = std::min(best_s, taken.count());
    }
    return 2 * static_cast<double>(buffer_bytes) / best_s;
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

/// Describes a GPU, whose bandwidths it measures.
Json device_json(const GpuDevice& device) {
    Json json{{"number", device.number},
              {"name", device.name},
              {"compute_capability", message(device.compute_major, ".", device.compute_minor)},
              {"usable", device.usable},
              {"memory_bytes", device.memory_bytes},
              {"free_bytes", device.free_bytes},
              {"pci", device.bus_id},
              {"peers", device.peers}};
    if (!device.usable) {
        json["why_unusable"] = device.why_unusable;
        return json;
    }
    try {
        const GpuBandwidth bandwidth = measure_gpu_bandwidth(device.number);
        json["bytes_per_s"] = {{"host_to_device", bandwidth.host_to_device},
                               {"device_to_host", bandwidth.device_to_host},
                               {"both", bandwidth.both},
                               {"device_copy", bandwidth.device}};
    } catch (const std::exception& error) {
        json["not_measured"] = error.what();
    }
    return json;
}

/// Describes CUDA and its devices.
Json cuda_json() {
    Json json{{"unavailable", text_or_null(gpu_unavailable())},
              {"driver", text_or_null(cuda_driver_version())},
              {"runtime", text_or_null(cuda_runtime_version())},
              {"devices", Json::array()}};
    std::vector<int> working;
    for (const GpuDevice& device : gpu_devices()) {
        json["devices"].push_back(device_json(device));
        if (json["devices"].back().contains("bytes_per_s")) working.push_back(device.number);
    }
    std::string chosen;
    if (!working.empty()) try {
            const TransferGateChoice gate = choose_transfer_gate(working);
            if (gate.all_uploads > 0)
                json["upload_bytes_per_s"] = {{"one", gate.one_upload}, {"all", gate.all_uploads}};
            chosen = to_string(gate.gate);
        } catch (const std::exception& error) {
            json["devices"].front()["not_measured"] = error.what();
        }
    json["transfer_gate"] = text_or_null(chosen);
    return json;
}

std::string gigabytes_a_second(const Json& bytes_per_s) {
    return format_number(bytes_per_s.get<double>() / 1e9, 4) + " GB/s";
}

std::string memory_text(const Json& bytes) {
    return format_bytes(bytes.get<index_t>());
}

std::string text_in(const Json& json) {
    return json.is_null() ? "" : json.get<std::string>();
}

std::string device_text(const Json& device) {
    std::string text = message(
        text_in(device.at("name")), ", compute capability ",
        text_in(device.at("compute_capability")), ", ", memory_text(device.at("memory_bytes")),
        ", ", memory_text(device.at("free_bytes")), " free, PCI ", text_in(device.at("pci")));
    if (device.contains("why_unusable"))
        return message(text, "; not used: ", text_in(device.at("why_unusable")));
    if (!device.at("peers").empty()) text += ", reaches";
    for (const Json& peer : device.at("peers")) text += message(" gpu:", peer.get<int>());
    return text;
}

/// Calls fact(label, text) for each line about CUDA and its devices.
template <class Fact>
void report_cuda(const Json& cuda, const Fact& fact) {
    if (!cuda.at("runtime").is_null())
        fact("CUDA versions",
             message("runtime ", text_in(cuda.at("runtime")), ", driver ",
                     cuda.at("driver").is_null() ? "none" : text_in(cuda.at("driver"))));
    for (const Json& device : cuda.at("devices")) {
        fact(message("gpu:", device.at("number").get<int>()), device_text(device));
        if (device.contains("bytes_per_s")) {
            const Json& rates = device.at("bytes_per_s");
            fact("",
                 message("host to device ", gigabytes_a_second(rates.at("host_to_device")),
                         ", device to host ", gigabytes_a_second(rates.at("device_to_host")),
                         ", both ", gigabytes_a_second(rates.at("both")), "; copy on the device ",
                         gigabytes_a_second(rates.at("device_copy")), ", read plus written"));
        }
        if (device.contains("not_measured")) fact("", text_in(device.at("not_measured")));
    }
    if (cuda.contains("upload_bytes_per_s"))
        fact("GPU uploads",
             message(gigabytes_a_second(cuda.at("upload_bytes_per_s").at("one")), " to one, ",
                     gigabytes_a_second(cuda.at("upload_bytes_per_s").at("all")),
                     " to all at once"));
    if (!cuda.at("transfer_gate").is_null())
        fact("transfer gate", message("auto is ", text_in(cuda.at("transfer_gate")), " here"));
}

}  // namespace

Json calibration_json(const Calibration& calibration) {
    Json rates;
    for (const CalibratedRate& rate : calibration.rates)
        rates[rate.name] = {{"used", rate.used}, {"built_in", rate.built_in}};
    return {{"machine", calibration.machine},
            {"file", calibration.file},
            {"measured", calibration.measured},
            {"rates", rates}};
}

Json machine_json(bool use_gpus) {
    const HostResources host = host_resources();
    const auto cache = cache_folder();
    Json json = versioned_json();
    json["compiler"] = CONVOLUME_COMPILER;
    json["features"] = features_json();
    json["processor"] = host.processor;
    json["processors"] = static_cast<int>(std::thread::hardware_concurrency());
    json["threads"] = host.threads;
    json["thread_backend"] = host.thread_backend;
    json["host_memory_bytes"] = total_memory_bytes();
    json["host_memory_available_bytes"] = host.available_bytes;
    json["host_memory_limited_by"] = host.memory_limited_by;
    json["copy_bytes_per_s"] = measure_copy_bandwidth(host);
    json["cache_folder"] = cache ? cache->string() : "";
    json["calibration"] = calibration_json(current_calibration());
    if (use_gpus) json["cuda"] = cuda_json();
    return json;
}

std::vector<std::pair<std::string, std::string>> machine_lines(const Json& machine) {
    std::vector<std::pair<std::string, std::string>> lines;
    const auto fact = [&lines](const std::string& label, const std::string& value) {
        lines.emplace_back(label, value);
    };
    fact("convolume", text_in(machine.at("convolume")));
    fact("compiler", text_in(machine.at("compiler")));
    for (const auto& [name, feature] : machine.at("features").items())
        fact(name, text_in(feature.at("state")));
    fact("processor", text_in(machine.at("processor")));
    fact("threads",
         message(machine.at("threads").get<int>(), " of ", machine.at("processors").get<int>(),
                 " processors, backend ", text_in(machine.at("thread_backend"))));
    fact("host memory", message(memory_text(machine.at("host_memory_bytes")), ", ",
                                memory_text(machine.at("host_memory_available_bytes")),
                                " available by ", text_in(machine.at("host_memory_limited_by"))));
    fact("memory copy", message(format_number(machine.at("copy_bytes_per_s").get<double>() / 1e9),
                                " GB/s, read plus written"));
    fact("cache folder", machine.at("cache_folder") == ""
                             ? "none; set HOME or XDG_CACHE_HOME to keep FFT plans between runs"
                             : text_in(machine.at("cache_folder")));
    const Json& calibration = machine.at("calibration");
    fact("predictions",
         calibration.at("measured").get<bool>()
             ? message("measured on this machine, kept in ", text_in(calibration.at("file")))
             : "built in; convolume doctor --calibrate measures this machine");
    if (machine.contains("cuda")) report_cuda(machine.at("cuda"), fact);
    return lines;
}

}  // namespace convolume::cli
