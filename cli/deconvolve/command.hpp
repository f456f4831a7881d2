#pragma once

#include "cli/deconvolve/request.hpp"

namespace convolume::cli {

/// Reads, plans, deconvolves every channel and time point with one Deconvolver, writes and reports.
void run_deconvolve(const DeconvolveRequest& request);

}  // namespace convolume::cli
