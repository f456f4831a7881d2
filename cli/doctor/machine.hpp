// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about the build, the machine and its GPUs, for `convolume doctor` and reports.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

struct Feature {
    std::string name;
    std::string state;  ///< a version, or one sentence on what is missing and how to get it
    bool present;
};

/// File formats, FFT library, SIMD targets and devices that this build has.
std::vector<Feature> built_features();

int processor_count();
index_t total_memory_bytes();

/// The folder in which FFT plans are kept; empty if neither XDG_CACHE_HOME nor HOME is set.
std::string cache_folder();

/// Bytes read plus bytes written per second by all threads that copy memory at once.
double measure_copy_bandwidth(const HostResources& host);

/// CUDA and its devices.
struct GpuDiagnosis {
    struct Device {
        GpuDevice facts;
        std::optional<GpuBandwidth> bandwidth;
        std::string not_measured;  ///< why there is no bandwidth
    };

    std::string unavailable;  ///< empty where there are GPUs to compute on
    std::string driver;       ///< versions; empty where there is none
    std::string runtime;
    std::vector<Device> devices;
    /// Bytes a second to one of several usable devices, and to all at once.
    double one_upload = 0;
    double all_uploads = 0;
    std::optional<TransferGateChoice> gate;  ///< what `auto` stands for
};

/// Queries and measures the devices. Failures are recorded in the diagnosis; nothing is thrown.
GpuDiagnosis diagnose_gpus();

nlohmann::ordered_json to_json(const GpuDiagnosis& diagnosis);

/// Label and text of each line that doctor prints.
std::vector<std::pair<std::string, std::string>> facts_of(const GpuDiagnosis& diagnosis);

}  // namespace convolume::cli
