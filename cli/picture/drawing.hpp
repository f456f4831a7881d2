// SPDX-License-Identifier: Apache-2.0
#pragma once
// Drawings of shapes, pixels and text, through Cairo. The font is part of the program.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct _cairo;

namespace convolume::cli {

struct Color {
    std::uint8_t red;
    std::uint8_t green;
    std::uint8_t blue;
    friend bool operator==(const Color&, const Color&) = default;
};

/// Returns the color of a number such as 0xff8000.
constexpr Color color_of_rgb(std::uint32_t rgb) {
    return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8),
            static_cast<std::uint8_t>(rgb)};
}

inline constexpr double chart_text_size = 11;

/// The longest side of a picture in pixels.
inline constexpr int longest_picture_side = 32767;

/// Returns whether this build can draw.
bool can_draw();

/// Throws Unavailable that names the packages to install if this build cannot draw.
void require_drawing();

double drawn_width(std::string_view utf8, double size = chart_text_size);

/// The point of a text that lies at the given x.
enum class TextAnchor { begin, middle, end };

/// A drawing, from which files of pixels are made; y points down.
class Drawing {
  public:
    Drawing(double width, double height, Color background);

    void rectangle(double x, double y, double width, double height, Color color,
                   double opacity = 1);
    /// Draws text whose middle is at height y. Bytes that are not UTF-8 are replaced.
    void text(double x, double y, std::string_view utf8, TextAnchor anchor, Color color,
              double size = chart_text_size);
    /// Draws rows of pixels, each one unit wide and high.
    void pixels(double x, double y, int columns, const std::vector<Color>& colors);

    /// Returns the drawing as the bytes of a PNG file, with `scale` pixels for each unit.
    std::vector<char> png(double scale = 1) const;

  private:
    double width_;
    double height_;
    std::shared_ptr<_cairo> context_;
};

}  // namespace convolume::cli
