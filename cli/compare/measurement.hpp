// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures one turn of a way: its times, memory and transfers. Figures are JSON, as in the report.

#include <nlohmann/json.hpp>
#include <stop_token>
#include <vector>

#include "cli/compare/problem.hpp"
#include "cli/compare/result_errors.hpp"

namespace convolume::cli {

/// Thrown if a way takes longer than --time-limit, and so is left out.
class TimeLimitExceeded : public Error {
    using Error::Error;
};

/// Returns the numbers of the GPUs that `engines` can compute on.
std::vector<int> gpus_of(const EngineChoice& engines);

/// Returns the figures of a way that has not been measured, without turns.
nlohmann::ordered_json unmeasured(const Way& way);

/// Sets the figures of a way that follow from its turns: medians, spread, rate, and whether it has
/// all turns.
void summarize(nlohmann::ordered_json& figures, index_t work, int repeats);

nlohmann::ordered_json errors_json(const ResultErrors& errors);

struct TurnLimits {
    index_t bytes = 0;   ///< host memory of the plan
    double seconds = 0;  ///< longest time of one execution
};

/// Plans a way, executes it, executes it again and measures that. Adds the turn to `figures` and
/// returns the result. `machine` has the bandwidths of the GPUs. Throws TimeLimitExceeded, and the
/// library's errors; `figures` are then unchanged.
Volume measure_turn(const Problem& problem, const std::vector<Volume>& inputs, const Way& way,
                    const TurnLimits& limits, const nlohmann::ordered_json& machine,
                    nlohmann::ordered_json& figures, const std::stop_token& stop);

}  // namespace convolume::cli
