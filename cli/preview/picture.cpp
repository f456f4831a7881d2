// SPDX-License-Identifier: Apache-2.0
// Draws the picture of `convolume preview`.

#include <algorithm>
#include <cmath>

#include "cli/picture/canvas.hpp"
#include "cli/preview/command.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr Color background{16, 18, 22};
constexpr Color bright{236, 239, 244};
constexpr Color dim{138, 146, 160};
constexpr int picture_margin = 28;
constexpr int panel_gap = 6;
constexpr int column_gap = 40;
constexpr int text_size = 2;
constexpr int text_height = glyph_height * text_size;
constexpr int line_height = text_height + 8;
constexpr int ramp_height = 10;
constexpr int least_column = 400;
constexpr double default_side = 900;
constexpr double largest_side = 16384;

// Sizes of one stack's panels in pixels.
struct PanelSizes {
    int x;
    int y;
    int z;
    int width() const { return x + panel_gap + z; }
    int height() const { return y + panel_gap + z; }
    int column() const { return std::max(width(), least_column); }
};

double smallest_step(const PreviewStack& stack) {
    return *std::min_element(stack.step.begin(), stack.step.end());
}

// Returns the extents of a stack along z, y and x, in units of its smallest sample distance.
std::array<double, 3> relative_extents(const PreviewStack& stack) {
    const FloatPlane& yx = stack.channels.front().views.along_z;
    const FloatPlane& zx = stack.channels.front().views.along_y;
    const double smallest = smallest_step(stack);
    return {static_cast<double>(zx.rows) * stack.step[0] / smallest,
            static_cast<double>(yx.rows) * stack.step[1] / smallest,
            static_cast<double>(yx.columns) * stack.step[2] / smallest};
}

double rounded_zoom(double zoom) {
    return zoom > 1 ? std::floor(zoom * 2) / 2 : zoom;
}

// Returns the picture pixels for the smallest sample distance of each stack.
std::vector<double> default_zooms(const std::vector<PreviewStack>& stacks, double asked) {
    double largest = 1, highest = 1;
    for (const PreviewStack& stack : stacks) {
        if (stack.own_zoom) continue;
        const auto [z, y, x] = relative_extents(stack);
        largest = std::max({largest, x + z, y + z});
        highest = std::max(highest, y + z);
    }
    const double side = default_side / std::max(1.0, static_cast<double>(stacks.size()) / 2);
    const double shared = asked > 0 ? asked : rounded_zoom(std::min(side / largest, 8.0));
    std::vector<double> zooms;
    for (const PreviewStack& stack : stacks) {
        const auto [z, y, x] = relative_extents(stack);
        const double own = rounded_zoom(std::min(shared * highest / (y + z), 16.0));
        zooms.push_back(stack.own_zoom && asked == 0 ? own : shared);
    }
    return zooms;
}

PanelSizes panels_of(const PreviewStack& stack, double zoom) {
    const auto [z, y, x] = relative_extents(stack);
    for (const double side : {z, y, x})
        if (side * zoom > largest_side / 2)
            throw InvalidArgument(message("a picture with a panel of ", format_number(side * zoom),
                                          " pixels is too large; give a smaller --scale"));
    const auto pixels = [zoom](double side) {
        return std::max(1, static_cast<int>(std::lround(side * zoom)));
    };
    return {pixels(x), pixels(y), pixels(z)};
}

/// Returns the brightness of a value, from 0 to 1.
double brightness(double value, const GrayLimits& limits, double gamma) {
    const double fraction = (value - limits.low) / (limits.high - limits.low);
    if (!(fraction > 0)) return 0;
    return std::pow(std::min(fraction, 1.0), gamma);
}

/// Returns the color `there` with the light of `color`, times `level`, added.
Color add_light(Color there, Color color, double level) {
    const auto sum = [level](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(std::min<long>(a + std::lround(level * b), 255));
    };
    return {sum(there.red, color.red), sum(there.green, color.green), sum(there.blue, color.blue)};
}

// A rectangle of the picture, in pixels.
struct PixelArea {
    int left;
    int top;
    int width;
    int height;
};

void draw_plane(Canvas& canvas, const PixelArea& area, const PreviewStack& stack,
                FloatPlane OrthogonalViews::*view, double gamma) {
    canvas.fill(area.left, area.top, area.width, area.height, {0, 0, 0});
    for (const PreviewChannel& channel : stack.channels) {
        const FloatPlane pixels = resample(channel.views.*view, area.height, area.width);
        for (int y = 0; y < area.height; ++y)
            for (int x = 0; x < area.width; ++x)
                canvas.set(area.left + x, area.top + y,
                           add_light(canvas.at(area.left + x, area.top + y), channel.color,
                                     brightness(pixels.at(y, x), channel.limits, gamma)));
    }
}

// Darkens the picture below a label, so that the label can be read on any image.
void shade(Canvas& canvas, const PixelArea& area) {
    for (int y = std::max(area.top, 0); y < std::min(area.top + area.height, canvas.height()); ++y)
        for (int x = std::max(area.left, 0); x < std::min(area.left + area.width, canvas.width());
             ++x) {
            const auto darker = [](std::uint8_t c) { return static_cast<std::uint8_t>(c / 3); };
            const Color color = canvas.at(x, y);
            canvas.set(x, y, {darker(color.red), darker(color.green), darker(color.blue)});
        }
}

void draw_label(Canvas& canvas, const PixelArea& area, const char* text) {
    const int needed = text_width(text, text_size) + 8;
    if (needed > area.width || text_height + 8 > area.height) return;
    shade(canvas, {area.left, area.top, needed, text_height + 8});
    canvas.text(area.left + 4, area.top + 4, text, bright, text_size);
}

void draw_scale_bar(Canvas& canvas, const PreviewStack& stack, double zoom, int right, int bottom,
                    int width) {
    const double pixels_per_unit = zoom / smallest_step(stack);
    const double length = round_length(0.3 * width / pixels_per_unit);
    const int bar = std::max(1, static_cast<int>(std::lround(length * pixels_per_unit)));
    const std::string label = format_number(length) + " " + stack.unit;
    const int label_width = text_width(label, text_size);
    const int box_width = std::max(bar, label_width) + 16;
    const int box_height = text_height + 22;
    if (box_width > width) return;
    const int left = right - box_width;
    shade(canvas, {left, bottom - box_height, box_width, box_height});
    canvas.text(left + (box_width - label_width) / 2, bottom - box_height + 6, label, bright,
                text_size);
    canvas.fill(left + (box_width - bar) / 2, bottom - 11, bar, 4, bright);
}

std::string shortened(const std::string& text, int width) {
    if (text_width(text, text_size) <= width) return text;
    const std::size_t room = static_cast<std::size_t>(width / ((glyph_width + 1) * text_size));
    return "…" + text.substr(text.size() - std::min(room - 1, text.size()));
}

// Draws the name of a channel, and a color ramp between its limits.
void draw_ramp(Canvas& canvas, int left, int top, int width, const PreviewChannel& channel,
               bool logarithmic, double gamma) {
    const auto number = [logarithmic](double value) {
        return format_number(logarithmic ? std::pow(10.0, value) : value, 4);
    };
    const std::string low = number(channel.limits.low);
    std::string high = number(channel.limits.high);
    if (logarithmic)
        high += "  log";
    else if (gamma != 1)
        high += "  gamma " + format_number(gamma);
    constexpr int ramp = 120;
    if (!channel.channel_name.empty()) {
        const std::string name = shortened(channel.channel_name, width / 3);
        canvas.text(left, top, name, bright, text_size);
        left += text_width(name, text_size) + 12;
    }
    canvas.text(left, top, low, dim, text_size);
    left += text_width(low, text_size) + 12;
    const int y = top + (text_height - ramp_height) / 2;
    for (int x = 0; x < ramp; ++x)
        canvas.fill(left + x, y, 1, ramp_height,
                    add_light({0, 0, 0}, channel.color, brightness(x, {0, ramp - 1}, gamma)));
    canvas.text(left + ramp + 12, top, high, dim, text_size);
}

void draw_stack(Canvas& canvas, int left, const PreviewStack& stack, double zoom,
                const PreviewStyle& style, int ramp_top) {
    const PanelSizes panels = panels_of(stack, zoom);
    int top = picture_margin;
    canvas.text(left, top, shortened(stack.title, panels.column()), bright, text_size);
    for (const std::string& caption : stack.captions) {
        top += line_height;
        canvas.text(left, top, shortened(caption, panels.column()), dim, text_size);
    }
    top += line_height + 4;
    const int right = left + panels.x + panel_gap;
    const int below = top + panels.y + panel_gap;
    const auto panel = [&](const PixelArea& area, FloatPlane OrthogonalViews::*view,
                           const char* axes) {
        draw_plane(canvas, area, stack, view, style.gamma);
        draw_label(canvas, area, axes);
    };
    panel({left, top, panels.x, panels.y}, &OrthogonalViews::along_z, "x→ y↓");
    panel({right, top, panels.z, panels.y}, &OrthogonalViews::along_x, "z→ y↓");
    panel({left, below, panels.x, panels.z}, &OrthogonalViews::along_y, "x→ z↓");
    draw_scale_bar(canvas, stack, zoom, left + panels.x, top + panels.y, panels.x);
    for (const PreviewChannel& channel : stack.channels) {
        draw_ramp(canvas, left, ramp_top, panels.column(), channel, stack.logarithmic, style.gamma);
        ramp_top += line_height;
    }
}

}  // namespace

double round_length(double length) {
    const double power = std::pow(10.0, std::floor(std::log10(length)));
    for (const double step : {5.0, 2.0})
        if (step * power <= length) return step * power;
    return power;
}

Canvas draw_preview(const std::vector<PreviewStack>& stacks, const PreviewStyle& style) {
    const std::vector<double> zooms = default_zooms(stacks, style.zoom);
    int width = 2 * picture_margin - column_gap;
    int height = 0;
    int ramps = 1;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        const PanelSizes panels = panels_of(stacks[i], zooms[i]);
        width += panels.column() + column_gap;
        height = std::max(height, panels.height());
        ramps = std::max(ramps, static_cast<int>(stacks[i].channels.size()));
    }
    const int ramp_top = picture_margin + 3 * line_height + 4 + height + 14;
    Canvas canvas(width, ramp_top + (ramps - 1) * line_height + text_height + picture_margin,
                  background);
    int left = picture_margin;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        draw_stack(canvas, left, stacks[i], zooms[i], style, ramp_top);
        left += panels_of(stacks[i], zooms[i]).column() + column_gap;
    }
    return canvas;
}

}  // namespace convolume::cli
