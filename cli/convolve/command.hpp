#pragma once

#include "cli/convolve/request.hpp"

namespace convolume::cli {

/// Reads, plans, convolves every channel and time point with one Convolver, writes and reports.
void run_convolve(const ConvolveRequest& request);

}  // namespace convolume::cli
