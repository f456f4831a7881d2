// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/plot/surface.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// Pixels of a PNG for each unit.
constexpr int surface_pixels_per_unit = 2;

int pixels(double units) {
    return static_cast<int>(std::lround(units * surface_pixels_per_unit));
}

std::string hex(Color color) {
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", color.red, color.green, color.blue);
    return text;
}

std::string number(double value) {
    return format_number(std::round(value * 100) / 100, 8);
}

}  // namespace

std::string escaped_xml(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

SvgSurface::SvgSurface(double width, double height, std::string_view title)
    : text_(message("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", number(width), ' ',
                    number(height), "\" width=\"", number(width), "\" height=\"", number(height),
                    "\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n<title>",
                    escaped_xml(title), "</title>\n")) {
    rectangle(0, 0, width, height, {255, 255, 255});
}

void SvgSurface::rectangle(double x, double y, double width, double height, Color color) {
    text_ += message("<rect x=\"", number(x), "\" y=\"", number(y), "\" width=\"", number(width),
                     "\" height=\"", number(height), "\" fill=\"", hex(color), "\"/>\n");
}

void SvgSurface::line(double x0, double y0, double x1, double y1, Color color) {
    text_ += message("<line x1=\"", number(x0), "\" y1=\"", number(y0), "\" x2=\"", number(x1),
                     "\" y2=\"", number(y1), "\" stroke=\"", hex(color), "\"/>\n");
}

void SvgSurface::text(double x, double y, std::string_view utf8, Anchor anchor, Color color) {
    const char* const place = anchor == Anchor::begin    ? "start"
                              : anchor == Anchor::middle ? "middle"
                                                         : "end";
    text_ += message("<text x=\"", number(x), "\" y=\"", number(y + 4), "\" text-anchor=\"", place,
                     "\" fill=\"", hex(color), "\">", escaped_xml(utf8), "</text>\n");
}

void SvgSurface::dot(double x, double y, Color color, bool hollow) {
    text_ += message("<circle cx=\"", number(x), "\" cy=\"", number(y), "\" r=\"3\" fill=\"",
                     hollow ? "#ffffff" : hex(color), "\" stroke=\"", hex(color), "\"/>\n");
}

PngSurface::PngSurface(double width, double height)
    : canvas_(pixels(width), pixels(height), {255, 255, 255}) {}

void PngSurface::rectangle(double x, double y, double width, double height, Color color) {
    const int left = pixels(x);
    const int top = pixels(y);
    canvas_.fill(left, top, pixels(x + width) - left, pixels(y + height) - top, color);
}

void PngSurface::line(double x0, double y0, double x1, double y1, Color color) {
    const double length = std::max(std::abs(x1 - x0), std::abs(y1 - y0)) * surface_pixels_per_unit;
    const int steps = std::max(1, static_cast<int>(std::ceil(length)));
    for (int i = 0; i <= steps; ++i) {
        const double t = static_cast<double>(i) / steps;
        canvas_.fill(pixels(x0 + t * (x1 - x0)), pixels(y0 + t * (y1 - y0)),
                     surface_pixels_per_unit, surface_pixels_per_unit, color);
    }
}

void PngSurface::text(double x, double y, std::string_view utf8, Anchor anchor, Color color) {
    int left = pixels(x);
    if (anchor == Anchor::middle) left -= text_width(utf8, surface_pixels_per_unit) / 2;
    if (anchor == Anchor::end) left -= text_width(utf8, surface_pixels_per_unit);
    canvas_.text(left, pixels(y - 3.5), utf8, color, surface_pixels_per_unit);
}

void PngSurface::dot(double x, double y, Color color, bool hollow) {
    rectangle(x - 3, y - 3, 6, 6, color);
    if (hollow) rectangle(x - 1.5, y - 1.5, 3, 3, {255, 255, 255});
}

}  // namespace convolume::cli
