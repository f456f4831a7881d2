// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures all ways on all problems, in turns: every way once, then every way again. So other load
// of the machine affects all ways alike. One way is in memory at a time.

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "cli/compare/machine_context.hpp"
#include "cli/compare/subject.hpp"

namespace convolume::cli {

/// How the reference, with which all results are compared, is computed.
enum class ReferenceKind {
    automatic,  ///< direct sums if they are few, else Fourier transforms
    direct,     ///< direct sums in float64
    fft,        ///< float64 on the CPU, by the method that the plan chooses
    none,
};
/// Parses "auto", "direct", "fft" or "none". Throws InvalidArgument that lists them.
ReferenceKind parse_reference(std::string_view text);
const char* to_string(ReferenceKind kind);

struct RunnerSettings {
    std::vector<Way> ways;
    int repeats = 3;
    double time_limit_s = 60;  ///< longest time of one execution
    index_t limit_bytes = 0;   ///< host memory for the inputs, all results and the plans
    ReferenceKind reference = ReferenceKind::automatic;
};

/// Callbacks that report progress.
struct RunnerEvents {
    std::function<void(const ComparedProblem&)> problem_begins;
    std::function<void(const Way&, int turn)> turn_begins;
    /// Called when every way had another turn or the problem is done, to save the results.
    std::function<void()> round_ends;
};

/// Measures everything that `comparison` does not have yet, and adds it there. Throws Cancelled if
/// `stop` was requested; `comparison` then has the measurements until then.
void run_comparison(const std::vector<std::unique_ptr<Subject>>& subjects,
                    const RunnerSettings& settings, const GpuLinks& links, Comparison& comparison,
                    const RunnerEvents& events, const std::stop_token& stop);

}  // namespace convolume::cli
