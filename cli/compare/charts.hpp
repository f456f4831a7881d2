// SPDX-License-Identifier: Apache-2.0
#pragma once
// The charts of a report: bars, one for each way, and curves over the size of a sweep.

#include <string>
#include <utility>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "cli/picture/canvas.hpp"

namespace convolume::cli {

struct NamedDrawing {
    std::string name;   ///< of the file, without ".png"
    std::string title;  ///< of the chart
    Drawing drawing;
};

/// Of one problem: time, rate and phases. Of a sweep: time, rate and error over the size, and the
/// phases at the largest size.
std::vector<NamedDrawing> charts_of(const Comparison& comparison);

/// Ends of a logarithmic axis: powers of ten around [least, most], least > 0.
std::pair<double, double> decades(double least, double most);

}  // namespace convolume::cli
