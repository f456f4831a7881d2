// SPDX-License-Identifier: Apache-2.0
#pragma once
// `--refine`: its text, and what came of it in words and in JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text/console.hpp"
#include "convolume/beads.hpp"

namespace convolume::cli {

/// "na,index,depth" or some of them. Throws InvalidArgument.
std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text);

/// The line "refined", and warnings of parameters that ended at their bounds.
void report_refinement(const Console& console, const RefinedPsf& refined);

nlohmann::ordered_json to_json(const RefinedPsf& refined);

}  // namespace convolume::cli
