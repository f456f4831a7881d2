// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/charts.hpp"

#include <algorithm>
#include <functional>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

double rate_of(const ComparedProblem& problem, const Measurement& way) {
    const double median_s = way.median_s();
    return median_s > 0 ? static_cast<double>(problem.work) / median_s / 1e6 : 0;
}

BarChart time_bars(const ComparedProblem& problem) {
    BarChart chart{"Time: " + problem.name, {}, {}};
    for (const Measurement& way : problem.measured)
        chart.bars.push_back(
            {way.way.name(), {way.median_s()}, format_number(way.median_s(), 3) + " s"});
    return chart;
}

BarChart rate_bars(const ComparedProblem& problem, const std::string& unit) {
    BarChart chart{message("Millions of ", unit, "s a second: ", problem.name), {}, {}};
    for (const Measurement& way : problem.measured) {
        const double rate = rate_of(problem, way);
        chart.bars.push_back({way.way.name(), {rate}, format_number(rate, 3)});
    }
    return chart;
}

BarChart phase_bars(const ComparedProblem& problem) {
    BarChart chart{message("Phases: ", problem.name,
                           " (seconds; where phases overlap, their sum exceeds the time)"),
                   {},
                   {}};
    for (const Measurement& way : problem.measured)
        for (const auto& [name, seconds] : way.phases())
            if (std::find(chart.sections.begin(), chart.sections.end(), name) ==
                chart.sections.end())
                chart.sections.push_back(name);
    for (const Measurement& way : problem.measured) {
        Bar bar{way.way.name(), std::vector<double>(chart.sections.size()),
                message("time ", format_number(way.median_s(), 3), " s")};
        for (const auto& [name, seconds] : way.phases()) {
            const auto place = std::find(chart.sections.begin(), chart.sections.end(), name);
            bar.sections[static_cast<std::size_t>(place - chart.sections.begin())] = seconds;
        }
        chart.bars.push_back(std::move(bar));
    }
    return chart;
}

using Figure = std::function<double(const ComparedProblem&, const Measurement&)>;

CurveChart curves(const Comparison& comparison, const std::string& title, const Figure& figure) {
    CurveChart chart{
        title,
        comparison.unit == "voxel" ? "edge of the image in voxels" : "samples of the signal",
        {}};
    for (const ComparedProblem& problem : comparison.problems)
        for (const Measurement& way : problem.measured) {
            const std::string name = way.way.name();
            auto curve = std::find_if(chart.curves.begin(), chart.curves.end(),
                                      [&name](const Curve& other) { return other.label == name; });
            if (curve == chart.curves.end())
                curve = chart.curves.insert(chart.curves.end(), {name, {}});
            curve->points.emplace_back(static_cast<double>(problem.size), figure(problem, way));
        }
    for (Curve& curve : chart.curves) std::sort(curve.points.begin(), curve.points.end());
    return chart;
}

}  // namespace

std::vector<NamedDrawing> charts_of(const Comparison& comparison) {
    std::vector<NamedDrawing> charts;
    const auto add = [&charts](const std::string& name, const auto& chart) {
        charts.push_back({name, chart.title, draw(chart)});
    };
    const ComparedProblem* last = nullptr;
    for (const ComparedProblem& problem : comparison.problems)
        if (!problem.measured.empty()) last = &problem;
    if (last == nullptr) return charts;
    if (comparison.problems.size() == 1) {
        add("time", time_bars(*last));
        add("rate", rate_bars(*last, comparison.unit));
    } else {
        add("time",
            curves(comparison, "Time in seconds",
                   [](const ComparedProblem&, const Measurement& way) { return way.median_s(); }));
        add("rate",
            curves(comparison, message("Millions of ", comparison.unit, "s a second"), rate_of));
        add("error",
            curves(comparison, "Relative L2 error (ways that equal the reference are not drawn)",
                   [](const ComparedProblem&, const Measurement& way) {
                       return way.errors ? way.errors->relative_l2 : 0;
                   }));
    }
    add("phases", phase_bars(*last));
    return charts;
}

}  // namespace convolume::cli
