// SPDX-License-Identifier: Apache-2.0
#pragma once
// A comparison as report.json, and back from there for --resume.

#include <nlohmann/json.hpp>
#include <string>

#include "cli/compare/comparison.hpp"

namespace convolume::cli {

/// Infinite figures and unknown ones are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// Throws BadData, naming `file`, where `text` is not such a report.
Comparison comparison_of(const std::string& text, const std::string& file);

}  // namespace convolume::cli
