// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/plot/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cli/picture/font.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

constexpr Color black{30, 30, 30};
constexpr Color gray{215, 215, 215};
constexpr double chart_width = 760;
constexpr double row_height = 18;
constexpr double margin = 10;

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

double width_of(std::string_view text) {
    return static_cast<double>(text_width(text, 1));
}

/// Calls `paint` for both kinds of surface.
template <class Paint>
Drawing on_both(double height, const std::string& title, const Paint& paint) {
    SvgSurface svg(chart_width, height, title);
    PngSurface png(chart_width, height);
    paint(svg);
    paint(png);
    return {svg.svg(), png.png()};
}

double total(const Bar& bar) {
    return std::accumulate(bar.sections.begin(), bar.sections.end(), 0.0);
}

void paint_bars(const BarChart& chart, Surface& surface) {
    double label_width = 0;
    double figure_width = 0;
    double longest = 0;
    for (const Bar& bar : chart.bars) {
        label_width = std::max(label_width, width_of(bar.label));
        figure_width = std::max(figure_width, width_of(bar.figure));
        longest = std::max(longest, total(bar));
    }
    surface.text(margin, margin + row_height / 2, chart.title, Anchor::begin, black);
    double y = margin + 1.5 * row_height;
    double x = margin;
    for (std::size_t i = 0; i < chart.sections.size(); ++i) {
        surface.rectangle(x, y + 3, 10, 10, color_of(i));
        surface.text(x + 15, y + row_height / 2, chart.sections[i], Anchor::begin, black);
        x += width_of(chart.sections[i]) + 35;
    }
    if (!chart.sections.empty()) y += 1.5 * row_height;
    const double left = margin + label_width + 12;
    const double space = std::max(40.0, chart_width - margin - figure_width - 8 - left);
    for (const Bar& bar : chart.bars) {
        surface.text(margin, y + row_height / 2, bar.label, Anchor::begin, black);
        double begin = left;
        for (std::size_t i = 0; i < bar.sections.size(); ++i) {
            const double width = longest > 0 ? bar.sections[i] / longest * space : 0;
            surface.rectangle(begin, y + 2, width, row_height - 4, color_of(i));
            begin += width;
        }
        surface.text(begin + 6, y + row_height / 2, bar.figure, Anchor::begin, black);
        y += row_height;
    }
}

bool is_drawn(const std::pair<double, double>& point) {
    return point.first > 0 && point.second > 0 && std::isfinite(point.second);
}

/// A logarithmic axis from `begin` to `end` on the surface.
struct LogAxis {
    double least = 1;
    double most = 10;
    double begin = 0;
    double end = 1;

    double at(double value) const {
        return begin + (end - begin) * std::log(value / least) / std::log(most / least);
    }
};

void paint_curves(const CurveChart& chart, Surface& surface, double height) {
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
    surface.text(margin, margin + row_height / 2, chart.title, Anchor::begin, black);
    if (xs.empty()) return;
    std::sort(xs.begin(), xs.end());
    xs.erase(std::unique(xs.begin(), xs.end()), xs.end());

    const double bottom = height - margin - 2.2 * row_height;
    const auto [low, high] = decades(least, most);
    const LogAxis y{low, high, bottom, margin + 2 * row_height};
    LogAxis x{xs.front(), xs.back(), margin + 60, chart_width - margin - 270};
    // A single size stands in the middle.
    if (xs.size() == 1) x = {xs.front() / 2, xs.front() * 2, x.begin, x.end};
    for (double value = low; value < high * 1.5; value *= 10) {
        surface.line(x.begin, y.at(value), x.end, y.at(value), gray);
        surface.text(x.begin - 6, y.at(value), format_number(value), Anchor::end, black);
    }
    double free_from = 0;
    for (const double value : xs) {
        surface.line(x.at(value), y.begin, x.at(value), y.end, gray);
        const std::string text = format_number(value, 12);
        if (x.at(value) - width_of(text) / 2 < free_from) continue;
        surface.text(x.at(value), bottom + 0.7 * row_height, text, Anchor::middle, black);
        free_from = x.at(value) + width_of(text) / 2 + 4;
    }
    surface.text((x.begin + x.end) / 2, bottom + 1.7 * row_height, chart.x_label, Anchor::middle,
                 black);

    double row = margin + 2 * row_height;
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const Color color = color_of(i);
        // The colors begin again with hollow dots.
        const bool hollow = i / color_count % 2 == 1;
        const std::pair<double, double>* before = nullptr;
        for (const auto& point : chart.curves[i].points) {
            if (!is_drawn(point)) continue;
            if (before != nullptr)
                surface.line(x.at(before->first), y.at(before->second), x.at(point.first),
                             y.at(point.second), color);
            surface.dot(x.at(point.first), y.at(point.second), color, hollow);
            before = &point;
        }
        surface.dot(x.end + 22, row + row_height / 2, color, hollow);
        surface.text(x.end + 32, row + row_height / 2, chart.curves[i].label, Anchor::begin, black);
        row += row_height;
    }
}

}  // namespace

std::pair<double, double> decades(double least, double most) {
    const double low = std::floor(std::log10(least) + 1e-9);
    const double high = std::max(low + 1, std::ceil(std::log10(most) - 1e-9));
    return {std::pow(10, low), std::pow(10, high)};
}

Drawing draw(const BarChart& chart) {
    const auto rows = static_cast<double>(chart.bars.size());
    const double height = 2 * margin + (rows + (chart.sections.empty() ? 1.5 : 3.0)) * row_height;
    return on_both(height, chart.title, [&](Surface& surface) { paint_bars(chart, surface); });
}

Drawing draw(const CurveChart& chart) {
    const auto rows = static_cast<double>(chart.curves.size());
    const double height = std::max(360.0, 2 * margin + (rows + 4) * row_height);
    return on_both(height, chart.title,
                   [&](Surface& surface) { paint_curves(chart, surface, height); });
}

}  // namespace convolume::cli
