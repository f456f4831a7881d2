// SPDX-License-Identifier: Apache-2.0
#pragma once
// What charts are drawn on: the same calls make SVG and PNG.

#include <string>
#include <string_view>
#include <vector>

#include "cli/picture/canvas.hpp"

namespace convolume::cli {

/// Where a text stands beside its point.
enum class Anchor { begin, middle, end };

/// Coordinates are units of which a character of text is about 6 wide and 8 high; y points down.
class Surface {
  public:
    Surface() = default;
    Surface(const Surface&) = delete;
    Surface& operator=(const Surface&) = delete;
    virtual ~Surface() = default;

    virtual void rectangle(double x, double y, double width, double height, Color color) = 0;
    virtual void line(double x0, double y0, double x1, double y1, Color color) = 0;
    /// In the middle of its height at y.
    virtual void text(double x, double y, std::string_view utf8, Anchor anchor, Color color) = 0;
    /// `hollow`: white inside.
    virtual void dot(double x, double y, Color color, bool hollow) = 0;
};

class SvgSurface : public Surface {
  public:
    SvgSurface(double width, double height, std::string_view title);

    void rectangle(double x, double y, double width, double height, Color color) override;
    void line(double x0, double y0, double x1, double y1, Color color) override;
    void text(double x, double y, std::string_view utf8, Anchor anchor, Color color) override;
    void dot(double x, double y, Color color, bool hollow) override;

    /// The <svg> element.
    std::string svg() const { return text_ + "</svg>\n"; }

  private:
    std::string text_;
};

class PngSurface : public Surface {
  public:
    PngSurface(double width, double height);

    void rectangle(double x, double y, double width, double height, Color color) override;
    void line(double x0, double y0, double x1, double y1, Color color) override;
    void text(double x, double y, std::string_view utf8, Anchor anchor, Color color) override;
    void dot(double x, double y, Color color, bool hollow) override;

    std::vector<char> png() const { return canvas_.png(); }

  private:
    Canvas canvas_;
};

/// With &, <, > and quotes as entities.
std::string escaped_xml(std::string_view text);

}  // namespace convolume::cli
