// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small pictures: canvases of pixels, and drawings of shapes and text. Captions use a bitmap font
// of 5×7 pixels, so that no machine needs a font file.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convolume::cli {

struct Color {
    std::uint8_t red;
    std::uint8_t green;
    std::uint8_t blue;
    friend bool operator==(const Color&, const Color&) = default;
};

inline constexpr int glyph_width = 5;
inline constexpr int glyph_height = 7;
using Glyph = std::array<std::uint8_t, glyph_height>;

/// Returns the pixels of a character, or an empty box if the font does not have it.
Glyph glyph_of(char32_t character);

/// Decodes UTF-8. Malformed bytes become arbitrary characters; nothing is read beyond the text.
std::u32string decode_utf8(std::string_view text);

/// Returns the width of Canvas::text() in pixels.
int text_width(std::string_view utf8, int size);

/// An array of colored pixels.
class Canvas {
  public:
    Canvas(int width, int height, Color background);

    int width() const { return width_; }
    int height() const { return height_; }
    Color at(int x, int y) const { return pixels_[offset(x, y)]; }

    /// Sets one pixel. This and the functions below ignore pixels outside the canvas.
    void set(int x, int y, Color color);
    void fill(int x, int y, int width, int height, Color color);
    /// Draws text with its top left corner at (x, y); each font pixel is `size` pixels wide.
    void text(int x, int y, std::string_view utf8, Color color, int size);

    /// Returns the picture as the bytes of a PNG file.
    std::vector<char> png() const;

  private:
    std::size_t offset(int x, int y) const {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
               static_cast<std::size_t>(x);
    }

    int width_;
    int height_;
    std::vector<Color> pixels_;
};

/// The point of a text that lies at the given x.
enum class TextAnchor { begin, middle, end };

/// Shapes and text that are drawn both as SVG and as pixels of a Canvas, for a PNG file. A
/// character of text is about 6 units wide and 8 high; y points down. The background is white.
class Drawing {
  public:
    Drawing(double width, double height, std::string_view title);

    void rectangle(double x, double y, double width, double height, Color color);
    void line(double x0, double y0, double x1, double y1, Color color);
    /// Draws text whose middle is at height y.
    void text(double x, double y, std::string_view utf8, TextAnchor anchor, Color color);
    /// Draws a dot; a hollow one is white inside.
    void dot(double x, double y, Color color, bool hollow);

    /// Returns the drawing as an <svg> element.
    std::string svg() const { return svg_ + "</svg>\n"; }
    std::vector<char> png() const { return canvas_.png(); }

  private:
    void fill_canvas(double x, double y, double width, double height, Color color);

    std::string svg_;
    Canvas canvas_;
};

/// Returns the text with &, <, > and quotes as entities.
std::string escaped_xml(std::string_view text);

}  // namespace convolume::cli
