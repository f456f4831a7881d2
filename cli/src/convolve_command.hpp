#pragma once

#include <functional>

#include "convolve_request.hpp"

namespace convolume::cli {

/// Reads, plans, convolves every channel and time point with one Convolver, writes and reports.
void run_convolve(const ConvolveRequest& request);

/// Calls `run`; where a device fails in it and the choice of devices was left to convolume, says so
/// and calls it again with CPU engines alone.
void run_with_fallback(const Console& console, const ConvolveRequest& request,
                       const std::function<void(const ConvolveRequest&)>& run);

}  // namespace convolume::cli
