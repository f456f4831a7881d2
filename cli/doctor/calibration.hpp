// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rates of `convolume doctor`: what predictions are made of here.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/calibration.hpp"

namespace convolume::cli {

/// "measured on this machine", or how to measure it.
std::string one_line(const Calibration& calibration);
/// A line for each rate, beside the built-in one.
std::string to_text(const Calibration& calibration);
nlohmann::ordered_json to_json(const Calibration& calibration);

}  // namespace convolume::cli
