// SPDX-License-Identifier: Apache-2.0
#pragma once
// The charts of a report: bars, one for each way, and curves over the size of a sweep.

#include <string>
#include <utility>
#include <vector>

#include "cli/compare/plot/surface.hpp"

namespace convolume::cli {

/// A horizontal bar of one or several sections.
struct Bar {
    std::string label;
    std::vector<double> sections;  ///< as many as the chart has names, or one
    std::string figure;            ///< at its end
};

struct BarChart {
    std::string title;
    std::vector<std::string> sections;  ///< names; empty: bars of one color
    std::vector<Bar> bars;
};

/// A curve; points from left to right.
struct Curve {
    std::string label;
    std::vector<std::pair<double, double>> points;
};

/// Both axes are logarithmic: points that are not positive and finite are left out.
struct CurveChart {
    std::string title;
    std::string x_label;
    std::vector<Curve> curves;
};

/// A chart drawn once for pages and once for files.
struct Drawing {
    std::string svg;
    std::vector<char> png;
};

Drawing draw(const BarChart& chart);
Drawing draw(const CurveChart& chart);

/// Ends of a logarithmic axis: powers of ten around [least, most], least > 0.
std::pair<double, double> decades(double least, double most);

}  // namespace convolume::cli
