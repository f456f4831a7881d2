// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume doctor` finds out about CUDA and its devices.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convolume/engines.hpp"

namespace convolume::cli {

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
    std::optional<TransferGateChoice> gate;  ///< what `auto` stands for
};

/// Queries and measures the devices. Failures are recorded in the diagnosis; nothing is thrown.
GpuDiagnosis diagnose_gpus();

nlohmann::ordered_json to_json(const GpuDiagnosis& diagnosis);

/// Label and text of each line that doctor prints.
std::vector<std::pair<std::string, std::string>> facts_of(const GpuDiagnosis& diagnosis);

}  // namespace convolume::cli
