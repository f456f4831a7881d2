// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures all ways on all problems, in turns: every way once, then every way again. So other load
// of the machine affects all ways alike. One way is in memory at a time.

#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/compare/problem.hpp"
#include "cli/text/console.hpp"

namespace convolume::cli {

struct RunnerSettings {
    std::vector<Way> ways;
    int repeats;
    double time_limit_s;    ///< longest time of one execution
    index_t limit_bytes;    ///< host memory for the inputs, all results and the plans
    std::string reference;  ///< value of --reference
};

/// Measures all ways on each problem, and adds their figures to "problems" in `report`. Prints
/// progress. Calls `save` when every way had another turn. Throws Cancelled if `stop` was
/// requested; `report` then has the measurements until then.
void run_comparison(const std::vector<Problem>& problems, const RunnerSettings& settings,
                    nlohmann::ordered_json& report, const Console& console,
                    const std::function<void()>& save, const std::stop_token& stop);

}  // namespace convolume::cli
