// SPDX-License-Identifier: Apache-2.0
// The charts of a report of `convolume compare`.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "cli/compare/report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// A horizontal bar of one or several sections.
struct Bar {
    std::string label;
    std::vector<double> sections;  ///< lengths; one for each section name of the chart, or one
    std::string figure;            ///< text at the end of the bar
};

struct BarChart {
    std::string title;
    std::vector<std::string> sections;  ///< names of the sections; empty: bars of one color
    std::vector<Bar> bars;
};

/// A curve, with points from left to right.
struct Curve {
    std::string label;
    std::vector<std::pair<double, double>> points;
};

/// A chart of curves with logarithmic axes, which leaves out points that are not positive and
/// finite.
struct CurveChart {
    std::string title;
    std::string x_label;
    std::vector<Curve> curves;
};

constexpr Color black{30, 30, 30};
constexpr Color paper{255, 255, 255};
constexpr Color gray{215, 215, 215};
constexpr double chart_width = 760;
constexpr double row_height = 18;
constexpr double chart_margin = 10;

constexpr std::size_t color_count = 10;

Color color_of(std::size_t index) {
    constexpr std::array<Color, color_count> colors{{{31, 90, 160},
                                                     {225, 120, 20},
                                                     {50, 145, 60},
                                                     {190, 40, 50},
                                                     {130, 95, 175},
                                                     {125, 85, 75},
                                                     {215, 110, 185},
                                                     {110, 110, 110},
                                                     {175, 175, 40},
                                                     {30, 175, 195}}};
    return colors[index % color_count];
}

double total(const Bar& bar) {
    return std::accumulate(bar.sections.begin(), bar.sections.end(), 0.0);
}

Drawing draw(const BarChart& chart) {
    const auto rows = static_cast<double>(chart.bars.size());
    const double height =
        2 * chart_margin + (rows + (chart.sections.empty() ? 1.5 : 3.0)) * row_height;
    Drawing drawing(chart_width, height, paper);
    double label_width = 0;
    double figure_width = 0;
    double longest = 0;
    for (const Bar& bar : chart.bars) {
        label_width = std::max(label_width, drawn_width(bar.label));
        figure_width = std::max(figure_width, drawn_width(bar.figure));
        longest = std::max(longest, total(bar));
    }
    drawing.text(chart_margin, chart_margin + row_height / 2, chart.title, TextAnchor::begin,
                 black);
    double y = chart_margin + 1.5 * row_height;
    double x = chart_margin;
    for (std::size_t i = 0; i < chart.sections.size(); ++i) {
        drawing.rectangle(x, y + 3, 10, 10, color_of(i));
        drawing.text(x + 15, y + row_height / 2, chart.sections[i], TextAnchor::begin, black);
        x += drawn_width(chart.sections[i]) + 35;
    }
    if (!chart.sections.empty()) y += 1.5 * row_height;
    const double left = chart_margin + label_width + 12;
    const double space = std::max(40.0, chart_width - chart_margin - figure_width - 8 - left);
    for (const Bar& bar : chart.bars) {
        drawing.text(chart_margin, y + row_height / 2, bar.label, TextAnchor::begin, black);
        double begin = left;
        for (std::size_t i = 0; i < bar.sections.size(); ++i) {
            const double width = longest > 0 ? bar.sections[i] / longest * space : 0;
            drawing.rectangle(begin, y + 2, width, row_height - 4, color_of(i));
            begin += width;
        }
        drawing.text(begin + 6, y + row_height / 2, bar.figure, TextAnchor::begin, black);
        y += row_height;
    }
    return drawing;
}

bool is_drawn(const std::pair<double, double>& point) {
    return point.first > 0 && point.second > 0 && std::isfinite(point.second);
}

/// A logarithmic axis of values from `least` to `most`, at coordinates from `begin` to `end`.
struct LogAxis {
    double least = 1;
    double most = 10;
    double begin = 0;
    double end = 1;

    double at(double value) const {
        return begin + (end - begin) * std::log(value / least) / std::log(most / least);
    }
};

/// Draws the curves, and a legend beside them.
void draw_curves(const CurveChart& chart, const LogAxis& x, const LogAxis& y, Drawing& drawing) {
    double row = chart_margin + 2 * row_height;
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const Color color = color_of(i);
        // Further curves repeat the colors with hollow dots.
        const bool hollow = i / color_count % 2 == 1;
        const std::pair<double, double>* before = nullptr;
        for (const auto& point : chart.curves[i].points) {
            if (!is_drawn(point)) continue;
            if (before != nullptr)
                drawing.line(x.at(before->first), y.at(before->second), x.at(point.first),
                             y.at(point.second), color);
            drawing.dot(x.at(point.first), y.at(point.second), color, hollow);
            before = &point;
        }
        drawing.dot(x.end + 22, row + row_height / 2, color, hollow);
        drawing.text(x.end + 32, row + row_height / 2, chart.curves[i].label, TextAnchor::begin,
                     black);
        row += row_height;
    }
}

Drawing draw(const CurveChart& chart) {
    const auto rows = static_cast<double>(chart.curves.size());
    const double height = std::max(360.0, 2 * chart_margin + (rows + 4) * row_height);
    Drawing drawing(chart_width, height, paper);
    std::vector<double> xs;
    double least = INFINITY;
    double most = 0;
    for (const Curve& curve : chart.curves)
        for (const auto& point : curve.points) {
            if (!is_drawn(point)) continue;
            xs.push_back(point.first);
            least = std::min(least, point.second);
            most = std::max(most, point.second);
        }
    drawing.text(chart_margin, chart_margin + row_height / 2, chart.title, TextAnchor::begin,
                 black);
    if (xs.empty()) return drawing;
    std::sort(xs.begin(), xs.end());
    xs.erase(std::unique(xs.begin(), xs.end()), xs.end());

    const double bottom = height - chart_margin - 2.2 * row_height;
    const auto [low, high] = decades(least, most);
    const LogAxis y{low, high, bottom, chart_margin + 2 * row_height};
    LogAxis x{xs.front(), xs.back(), chart_margin + 60, chart_width - chart_margin - 270};
    // A single size is placed in the middle of the axis.
    if (xs.size() == 1) x = {xs.front() / 2, xs.front() * 2, x.begin, x.end};
    for (double value = low; value < high * 1.5; value *= 10) {
        drawing.line(x.begin, y.at(value), x.end, y.at(value), gray);
        drawing.text(x.begin - 6, y.at(value), format_number(value), TextAnchor::end, black);
    }
    double free_from = 0;
    for (const double value : xs) {
        drawing.line(x.at(value), y.begin, x.at(value), y.end, gray);
        const std::string text = format_number(value, 12);
        if (x.at(value) - drawn_width(text) / 2 < free_from) continue;
        drawing.text(x.at(value), bottom + 0.7 * row_height, text, TextAnchor::middle, black);
        free_from = x.at(value) + drawn_width(text) / 2 + 4;
    }
    drawing.text((x.begin + x.end) / 2, bottom + 1.7 * row_height, chart.x_label,
                 TextAnchor::middle, black);
    draw_curves(chart, x, y, drawing);
    return drawing;
}

using Figure = std::function<double(const ComparedProblem&, const Measurement&)>;

double seconds_of(const ComparedProblem&, const Measurement& way) {
    return way.median_s();
}

double millions_a_second(const ComparedProblem& problem, const Measurement& way) {
    return problem.rate(way).value_or(0) / 1e6;
}

BarChart bars(const ComparedProblem& problem, const std::string& title, const Figure& figure,
              const char* unit) {
    BarChart chart{message(title, ": ", problem.name), {}, {}};
    for (const Measurement& way : problem.measured) {
        const double value = figure(problem, way);
        chart.bars.push_back({way.way.name(), {value}, format_number(value, 3) + unit});
    }
    return chart;
}

BarChart phase_bars(const ComparedProblem& problem) {
    BarChart chart{message("Phases: ", problem.name,
                           " (seconds; where phases overlap, their sum exceeds the time)"),
                   problem.phase_names(),
                   {}};
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

std::pair<double, double> decades(double least, double most) {
    const double low = std::floor(std::log10(least) + 1e-9);
    const double high = std::max(low + 1, std::ceil(std::log10(most) - 1e-9));
    return {std::pow(10, low), std::pow(10, high)};
}

std::vector<NamedDrawing> charts_of(const Comparison& comparison) {
    std::vector<NamedDrawing> charts;
    if (!can_draw()) return charts;
    const auto add = [&charts](const std::string& name, const auto& chart) {
        charts.push_back({name, chart.title, draw(chart)});
    };
    const ComparedProblem* last = nullptr;
    for (const ComparedProblem& problem : comparison.problems)
        if (!problem.measured.empty()) last = &problem;
    if (last == nullptr) return charts;
    const std::string rate = message("Millions of ", comparison.unit, "s a second");
    if (comparison.problems.size() == 1) {
        add("time", bars(*last, "Time", seconds_of, " s"));
        add("rate", bars(*last, rate, millions_a_second, ""));
    } else {
        add("time", curves(comparison, "Time in seconds", seconds_of));
        add("rate", curves(comparison, rate, millions_a_second));
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
