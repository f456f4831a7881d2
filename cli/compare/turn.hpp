// SPDX-License-Identifier: Apache-2.0
#pragma once
// One turn of a way: plan, execute, execute and measure.

#include <stop_token>

#include "cli/compare/machine_context.hpp"
#include "cli/compare/subject.hpp"

namespace convolume::cli {

/// A way is left out: why.
class WayLeftOut : public Error {
    using Error::Error;
};

struct TurnLimits {
    index_t host_bytes = 0;   ///< of the plan, input and result included
    double time_limit_s = 0;  ///< of one execution
};

/// Adds a turn to `measurement` and returns the result. Throws WayLeftOut where the way cannot be
/// planned or executed, or takes too long; Cancelled where `stop` was requested.
Volume take_turn(const Subject& subject, Measurement& measurement, const TurnLimits& limits,
                 const GpuLinks& links, const std::stop_token& stop);

}  // namespace convolume::cli
