// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about the build, the machine and its GPUs, for `convolume doctor` and reports.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "convolume/calibration.hpp"

namespace convolume::cli {

/// Returns what `convolume doctor --json` prints: features of the build, hardware, and measured
/// bandwidths. Without `use_gpus`, CUDA is not initialized, and "cuda" is missing. Failures of GPUs
/// are recorded; nothing is thrown.
nlohmann::ordered_json machine_json(bool use_gpus = true);

/// Returns label and text of each line in which people read machine_json().
std::vector<std::pair<std::string, std::string>> machine_lines(
    const nlohmann::ordered_json& machine);

nlohmann::ordered_json calibration_json(const Calibration& calibration);

}  // namespace convolume::cli
