// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts and JSON of plans of filter banks.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/run/run.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::cli {

/// Returns a line on a plan. `whole` is false if the predicted time is that of a chunk.
std::string plan_line(const FilterPlan& plan, bool whole);
nlohmann::ordered_json plan_json(const FilterPlan& plan);

/// Tells the files of filters, in lines with `label` and in the member `key`.
void tell_filters(const Facts& facts, const char* label, const char* key,
                  const std::vector<FilterFile>& files);

}  // namespace convolume::cli
