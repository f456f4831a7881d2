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

/// A feature that this build has or lacks.
struct Feature {
    std::string name;
    std::string state;  ///< "yes", a version, or one sentence: what is missing, and how to get it
    bool present;
};

/// Returns the file formats, FFT library, SIMD targets and devices of this build.
std::vector<Feature> built_features();

int processor_count();
index_t total_memory_bytes();

/// Returns the folder in which FFT plans are kept; empty if neither XDG_CACHE_HOME nor HOME is set.
std::string cache_folder();

/// Measures the bytes that all threads together read and write per second when they copy memory.
double measure_copy_bandwidth(const HostResources& host);

/// The state of CUDA and its devices.
struct GpuDiagnosis {
    struct MeasuredDevice {
        GpuDevice info;
        std::optional<GpuBandwidth> bandwidth;
        std::string not_measured;  ///< why no bandwidth was measured
    };

    std::string unavailable;  ///< why no GPU can compute; empty if one can
    std::string driver;       ///< version of the driver; empty without one
    std::string runtime;      ///< version of the CUDA runtime; empty without one
    std::vector<MeasuredDevice> devices;
    std::optional<TransferGateChoice> gate;  ///< transfer gate that `auto` chooses
};

/// Queries and measures the devices. Failures are recorded in the diagnosis; nothing is thrown.
GpuDiagnosis diagnose_gpus();

nlohmann::ordered_json to_json(const GpuDiagnosis& diagnosis);

/// Returns label and text of each line that doctor prints about GPUs.
std::vector<std::pair<std::string, std::string>> report_lines(const GpuDiagnosis& diagnosis);

}  // namespace convolume::cli
