// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small picture that is drawn on and saved as PNG.

#include <cstdint>
#include <string_view>
#include <vector>

namespace convolume::cli {

struct Color {
    std::uint8_t red;
    std::uint8_t green;
    std::uint8_t blue;
    friend bool operator==(const Color&, const Color&) = default;
};

class Canvas {
  public:
    Canvas(int width, int height, Color background);

    int width() const { return width_; }
    int height() const { return height_; }
    Color at(int x, int y) const { return pixels_[offset(x, y)]; }

    /// Points outside the canvas are left out, here and below.
    void set(int x, int y, Color color);
    void fill(int x, int y, int width, int height, Color color);
    /// Text with its top left corner at (x, y), each font pixel `size` pixels wide.
    void text(int x, int y, std::string_view utf8, Color color, int size);

    /// The picture as the bytes of a PNG file.
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

/// Pixels that Canvas::text() takes across.
int text_width(std::string_view utf8, int size);

}  // namespace convolume::cli
