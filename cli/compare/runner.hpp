// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures all ways on all problems, in turns: every way once, then every way again, so that other
// load of the machine meets all of them alike. One way is in memory at a time.

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "cli/compare/machine_context.hpp"
#include "cli/compare/subject.hpp"

namespace convolume::cli {

/// The result that all others are compared with.
enum class ReferenceKind {
    automatic,  ///< direct sums where these are few, else Fourier
    direct,     ///< direct sums in float64
    fft,        ///< in float64 on the CPU, by the method that its plan chooses
    none,
};
/// "auto", "direct", "fft", "none"; throws InvalidArgument that lists them.
ReferenceKind parse_reference(std::string_view text);
const char* to_string(ReferenceKind kind);

struct RunnerSettings {
    std::vector<Way> ways;
    int repeats = 3;
    double time_limit_s = 60;  ///< of one execution
    index_t limit_bytes = 0;   ///< of host memory, all together
    ReferenceKind reference = ReferenceKind::automatic;
};

/// Progress callbacks.
struct RunnerEvents {
    std::function<void(const ComparedProblem&)> problem_begins;
    std::function<void(const Way&, int turn)> turn_begins;
    /// Every way had another turn, or the problem is done: worth saving.
    std::function<void()> round_ends;
};

/// Measures what `comparison` does not have yet, into it. Throws Cancelled if `stop` was requested;
/// what was measured until then is in `comparison`.
void run_comparison(const std::vector<std::unique_ptr<Subject>>& subjects,
                    const RunnerSettings& settings, const GpuLinks& links, Comparison& comparison,
                    const RunnerEvents& events, const std::stop_token& stop);

}  // namespace convolume::cli
