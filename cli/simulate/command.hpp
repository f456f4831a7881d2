#pragma once

#include "cli/simulate/request.hpp"

namespace convolume::cli {

/// Blurs every channel and time point with one Convolver, records, writes and reports.
void run_simulate(const SimulateRequest& request);

}  // namespace convolume::cli
