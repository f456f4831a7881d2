// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which charts a report has.

#include <string>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "cli/compare/plot/chart.hpp"

namespace convolume::cli {

struct NamedDrawing {
    std::string name;   ///< of the file, without ".png"
    std::string title;  ///< of the chart
    Drawing drawing;
};

/// Of one problem: time, rate and phases. Of a sweep: time, rate and error over the size, and the
/// phases at the largest size.
std::vector<NamedDrawing> charts_of(const Comparison& comparison);

}  // namespace convolume::cli
