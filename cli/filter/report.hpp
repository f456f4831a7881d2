// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts and JSON of files of signals and of plans, of all commands that filter.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/filter_bank.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Returns a line on a plan. `whole` is false if the predicted time is that of a chunk.
std::string plan_line(const FilterPlan& plan, bool whole);
nlohmann::ordered_json plan_json(const FilterPlan& plan);
nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info);

}  // namespace convolume::cli
