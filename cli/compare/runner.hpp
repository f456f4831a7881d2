// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures all ways on all problems, in turns: every way once, then every way again, so that what
// else the machine does meets all of them alike. One way is in memory at a time.

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "cli/compare/machine_context.hpp"
#include "cli/compare/reference.hpp"
#include "cli/compare/subject.hpp"

namespace convolume::cli {

struct RunnerSettings {
    std::vector<Way> ways;
    int repeats = 3;
    double time_limit_s = 60;  ///< of one execution
    index_t limit_bytes = 0;   ///< of host memory, all together
    ReferenceKind reference = ReferenceKind::automatic;
};

/// Who is told how far it is.
struct RunnerEvents {
    std::function<void(const ComparedProblem&)> problem_begins;
    std::function<void(const Way&, int turn)> turn_begins;
    /// Every way had another turn, or the problem is done: worth saving.
    std::function<void()> round_ends;
};

/// Measures what `comparison` does not have yet, into it. Throws Cancelled where `stop` was
/// requested; what was measured until then is in `comparison`.
void run_comparison(const std::vector<std::unique_ptr<Subject>>& subjects,
                    const RunnerSettings& settings, const GpuLinks& links, Comparison& comparison,
                    const RunnerEvents& events, const std::stop_token& stop);

}  // namespace convolume::cli
