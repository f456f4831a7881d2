// SPDX-License-Identifier: Apache-2.0
// Draws the picture of `convolume preview`.

#include <algorithm>
#include <cmath>

#include "cli/preview/command.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// Colors of what surrounds the panels. Labels in panels are bright on any theme.
struct Theme {
    Color background;
    Color text;
    Color dim_text;
};
constexpr Theme dark_theme{{16, 18, 22}, {236, 239, 244}, {150, 158, 172}};
constexpr Theme light_theme{{255, 255, 255}, {20, 22, 26}, {95, 102, 114}};
constexpr Color bright{255, 255, 255};
constexpr Color pure_black{0, 0, 0};

constexpr int picture_margin = 28;
constexpr int panel_gap = 6;
constexpr int column_gap = 40;
constexpr double title_size = 20;
constexpr double text_size = 15;
constexpr double label_size = 14;
constexpr int title_height = 28;
constexpr int line_height = 23;
constexpr int label_height = 22;
constexpr int ramp_height = 12;
constexpr int least_column = 340;
constexpr double label_shade = 0.45;
constexpr double default_side = 900;
constexpr double largest_panel = 8192;
// Stacks that are flatter than this have no side views.
constexpr index_t least_planes = 5;
constexpr double least_depth = 0.02;  // of the longer side

// Sizes of one stack's panels in pixels; z is 0 without side views.
struct PanelSizes {
    int x;
    int y;
    int z;
    int depth() const { return z > 0 ? panel_gap + z : 0; }
    int height() const { return y + depth(); }
    int column() const { return std::max(x + depth(), least_column); }
};

// A rectangle of the picture, in pixels.
struct PixelArea {
    int left;
    int top;
    int width;
    int height;
};

double smallest_step(const PreviewStack& stack) {
    return *std::min_element(stack.step.begin(), stack.step.end());
}

// Returns the extents of a stack's views along z, y and x, in units of its smallest sample
// distance; 0 along z without side views.
std::array<double, 3> relative_extents(const PreviewStack& stack, const PreviewStyle& style) {
    const FloatPlane& yx = stack.channels.front().views.along_z;
    const index_t planes = stack.channels.front().views.along_y.rows;
    const double smallest = smallest_step(stack);
    const double z = static_cast<double>(planes) * stack.step[0] / smallest;
    const double y = static_cast<double>(yx.rows) * stack.step[1] / smallest;
    const double x = static_cast<double>(yx.columns) * stack.step[2] / smallest;
    const bool flat = planes < least_planes || z < least_depth * std::max(y, x);
    return {style.xy_only || flat ? 0 : z, y, x};
}

double rounded_zoom(double zoom) {
    return zoom > 1 ? std::floor(zoom * 2) / 2 : zoom;
}

// Returns the picture pixels for the smallest sample distance of each stack.
std::vector<double> zooms_of(const std::vector<PreviewStack>& stacks, const PreviewStyle& style) {
    double largest = 1, highest = 1;
    for (const PreviewStack& stack : stacks) {
        if (stack.own_zoom) continue;
        const auto [z, y, x] = relative_extents(stack, style);
        largest = std::max({largest, x + z, y + z});
        highest = std::max(highest, y + z);
    }
    const double side = default_side / std::max(1.0, static_cast<double>(stacks.size()) / 2);
    const double shared = style.zoom > 0 ? style.zoom : rounded_zoom(std::min(side / largest, 8.0));
    std::vector<double> zooms;
    for (const PreviewStack& stack : stacks) {
        const auto [z, y, x] = relative_extents(stack, style);
        const double own = rounded_zoom(std::min(shared * highest / (y + z), 16.0));
        zooms.push_back(stack.own_zoom && style.zoom == 0 ? own : shared);
    }
    return zooms;
}

[[noreturn]] void refuse_size(double pixels) {
    throw InvalidArgument(message("a picture with a side of ", format_number(std::round(pixels)),
                                  " pixels is too large; give a smaller --scale"));
}

/// Returns the brightness of a value, from 0 to 1.
double brightness(double value, const GrayLimits& limits, double gamma) {
    const double fraction = (value - limits.low) / (limits.high - limits.low);
    if (!(fraction > 0)) return 0;
    return std::pow(std::min(fraction, 1.0), gamma);
}

/// Returns the color `there` with the light of a color added.
Color add_light(Color there, const std::array<double, 3>& color) {
    const auto sum = [](std::uint8_t a, double b) {
        return static_cast<std::uint8_t>(std::min<long>(a + std::lround(b), 255));
    };
    return {sum(there.red, color[0]), sum(there.green, color[1]), sum(there.blue, color[2])};
}

/// One column of the picture: a stack below its title, beside others.
class StackColumn {
  public:
    StackColumn(const PreviewStack& stack, const PreviewStyle& style, double zoom)
        : stack_(stack),
          style_(style),
          theme_(style.light ? light_theme : dark_theme),
          zoom_(zoom),
          sizes_(panel_sizes()) {}

    const PanelSizes& sizes() const { return sizes_; }

    /// Draws the column, with color ramps from `ramp_top`.
    void draw(Drawing& drawing, int left, int ramp_top) const {
        text(drawing, left, picture_margin + title_height / 2,
             shortened(stack_.title, title_size, sizes_.column()), theme_.text, title_size);
        int top = picture_margin + title_height;
        for (const std::string& caption : stack_.captions) {
            text(drawing, left, top + line_height / 2,
                 shortened(caption, text_size, sizes_.column()), theme_.dim_text, text_size);
            top += line_height;
        }
        top += panel_gap;
        draw_panels(drawing, left, top);
        if (style_.scale_bar) draw_scale_bar(drawing, left + sizes_.x, top + sizes_.y);
        for (const PreviewChannel& channel : stack_.channels) {
            draw_ramp(drawing, left, ramp_top, channel);
            ramp_top += line_height;
        }
    }

  private:
    PanelSizes panel_sizes() const {
        const auto [z, y, x] = relative_extents(stack_, style_);
        const auto pixels = [this](double side) {
            if (side * zoom_ > largest_panel) refuse_size(side * zoom_);
            return std::max(1, static_cast<int>(std::lround(side * zoom_)));
        };
        return {pixels(x), pixels(y), z > 0 ? pixels(z) : 0};
    }

    static void text(Drawing& drawing, int left, int middle, const std::string& text, Color color,
                     double size) {
        drawing.text(left, middle, text, TextAnchor::begin, color, size);
    }

    /// Returns the end of a text that is wider than `width`.
    static std::string shortened(std::string text, double size, int width) {
        if (drawn_width(text, size) <= width) return text;
        do {
            text.erase(0, 1);
            while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0U) == 0x80U)
                text.erase(0, 1);
        } while (drawn_width("…" + text, size) > width);
        return "…" + text;
    }

    void draw_panels(Drawing& drawing, int left, int top) const {
        draw_plane(drawing, {left, top, sizes_.x, sizes_.y}, &OrthogonalViews::along_z);
        if (sizes_.z == 0) return;
        const int right = left + sizes_.x + panel_gap;
        const int below = top + sizes_.y + panel_gap;
        draw_plane(drawing, {right, top, sizes_.z, sizes_.y}, &OrthogonalViews::along_x);
        draw_plane(drawing, {left, below, sizes_.x, sizes_.z}, &OrthogonalViews::along_y);
        draw_label(drawing, {left, top, sizes_.x, sizes_.y}, "xy");
        draw_label(drawing, {right, top, sizes_.z, sizes_.y}, "zy");
        draw_label(drawing, {left, below, sizes_.x, sizes_.z}, "xz");
    }

    void draw_plane(Drawing& drawing, const PixelArea& area,
                    FloatPlane OrthogonalViews::*view) const {
        std::vector<Color> colors(
            static_cast<std::size_t>(area.width) * static_cast<std::size_t>(area.height),
            pure_black);
        for (const PreviewChannel& channel : stack_.channels) {
            const FloatPlane plane = resample(channel.views.*view, area.height, area.width);
            for (std::size_t i = 0; i < colors.size(); ++i)
                colors[i] = add_light(
                    colors[i],
                    channel.table.at(brightness(plane.values[i], channel.limits, style_.gamma)));
        }
        drawing.pixels(area.left, area.top, area.width, colors);
    }

    static void draw_label(Drawing& drawing, const PixelArea& area, const char* label) {
        const double width = std::round(drawn_width(label, label_size)) + 10;
        if (width > area.width || label_height > area.height) return;
        drawing.rectangle(area.left, area.top, width, label_height, pure_black, label_shade);
        drawing.text(area.left + 5, area.top + label_height / 2, label, TextAnchor::begin, bright,
                     label_size);
    }

    /// Draws a scale bar into the lower right corner of the first panel.
    void draw_scale_bar(Drawing& drawing, int right, int bottom) const {
        const double steps_per_unit =
            stack_.unit == "µm" ? 1 : stack_.step[2] * stack_.samples_per_unit;
        const double pixels_per_unit = zoom_ * steps_per_unit / smallest_step(stack_);
        const bool chosen = style_.bar_length_um && !stack_.own_zoom;
        const double length =
            chosen ? *style_.bar_length_um : round_length(0.3 * sizes_.x / pixels_per_unit);
        const int bar = std::max(1, static_cast<int>(std::lround(length * pixels_per_unit)));
        constexpr int margin = 10;
        if (bar + 2 * margin > sizes_.x) {
            if (!chosen) return;
            throw InvalidArgument(message("a scale bar of ", format_number(length), ' ',
                                          stack_.unit, " does not fit the image, which is ",
                                          format_number(sizes_.x / pixels_per_unit, 3), ' ',
                                          stack_.unit, " wide; give a shorter --scale-bar"));
        }
        const std::string label = format_number(length) + " " + stack_.unit;
        const int label_width = static_cast<int>(std::ceil(drawn_width(label, text_size)));
        const bool labelled = label_width + 2 * margin <= sizes_.x;
        const int width = std::max(bar, labelled ? label_width : 0) + 2 * margin;
        const int height = (labelled ? label_height + 4 : 6) + 14;
        if (height > sizes_.y) return;
        drawing.rectangle(right - width, bottom - height, width, height, pure_black, label_shade);
        if (labelled)
            drawing.text(right - width / 2.0, bottom - height + 4 + label_height / 2, label,
                         TextAnchor::middle, bright, text_size);
        drawing.rectangle(right - width + (width - bar) / 2, bottom - 14, bar, 5, bright);
    }

    /// Draws the name of a channel, and its look-up table between its limits.
    void draw_ramp(Drawing& drawing, int left, int top, const PreviewChannel& channel) const {
        const auto number = [this](double value) {
            if (stack_.in_decibels) return format_number(20 * value, 4) + " dB";
            if (stack_.logarithmic) value = std::pow(10.0, value);
            return std::abs(value) < 1000 ? format_number(value, 4)
                                          : format_number(std::round(value), 7);
        };
        constexpr int space = 10;
        const int middle = top + line_height / 2;
        const auto add = [&](const std::string& words, Color color) {
            text(drawing, left, middle, words, color, text_size);
            left += static_cast<int>(std::ceil(drawn_width(words, text_size))) + space;
        };
        if (!channel.channel_name.empty())
            add(shortened(channel.channel_name, text_size, sizes_.column() / 3), theme_.text);
        add(number(channel.limits.low), theme_.dim_text);
        constexpr int ramp = 120;
        std::vector<Color> colors;
        for (int i = 0; i < ramp * ramp_height; ++i)
            colors.push_back(add_light(
                pure_black, channel.table.at(brightness(i % ramp, {0, ramp - 1}, style_.gamma))));
        drawing.pixels(left, middle - ramp_height / 2, ramp, colors);
        left += ramp + space;
        std::string high = number(channel.limits.high);
        if (stack_.logarithmic && !stack_.in_decibels)
            high += "  log";
        else if (style_.gamma != 1)
            high += "  gamma " + format_number(style_.gamma);
        add(high, theme_.dim_text);
    }

    const PreviewStack& stack_;
    const PreviewStyle& style_;
    const Theme& theme_;
    double zoom_;
    PanelSizes sizes_;
};

}  // namespace

double round_length(double length) {
    const double power = std::pow(10.0, std::floor(std::log10(length)));
    for (const double step : {5.0, 2.0})
        if (step * power <= length) return step * power;
    return power;
}

Drawing draw_preview(const std::vector<PreviewStack>& stacks, const PreviewStyle& style) {
    const std::vector<double> zooms = zooms_of(stacks, style);
    std::vector<StackColumn> columns;
    int width = 2 * picture_margin - column_gap;
    int height = 0;
    std::size_t ramps = 1;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        columns.emplace_back(stacks[i], style, zooms[i]);
        width += columns.back().sizes().column() + column_gap;
        height = std::max(height, columns.back().sizes().height());
        ramps = std::max(ramps, stacks[i].channels.size());
    }
    const int ramp_top =
        picture_margin + title_height + 2 * line_height + panel_gap + height + 2 * panel_gap;
    const int bottom = ramp_top + static_cast<int>(ramps) * line_height + picture_margin;
    if (std::max(width, bottom) > longest_picture_side) refuse_size(std::max(width, bottom));
    Drawing drawing(width, bottom, (style.light ? light_theme : dark_theme).background);
    int left = picture_margin;
    for (const StackColumn& column : columns) {
        column.draw(drawing, left, ramp_top);
        left += column.sizes().column() + column_gap;
    }
    return drawing;
}

}  // namespace convolume::cli
