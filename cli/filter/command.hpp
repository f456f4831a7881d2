#pragma once

#include "cli/filter/request.hpp"

namespace convolume::cli {

/// Reads the filters, plans, streams the signal from file to file, and reports.
void run_filter(const FilterRequest& request);

}  // namespace convolume::cli
