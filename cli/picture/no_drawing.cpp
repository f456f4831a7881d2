// SPDX-License-Identifier: Apache-2.0
// Replacement for drawings in a build without Cairo.

#include "cli/picture/drawing.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

bool can_draw() {
    return false;
}

void require_drawing() {
    throw Unavailable(
        "convolume was built without Cairo, which draws pictures; install libcairo2-dev and "
        "fonts-dejavu-core, then build it again");
}

double drawn_width(std::string_view, double) {
    return 0;
}

Drawing::Drawing(double width, double height, Color) : width_(width), height_(height) {
    require_drawing();
}

void Drawing::rectangle(double, double, double, double, Color, double) {}
void Drawing::text(double, double, std::string_view, TextAnchor, Color, double) {}
void Drawing::pixels(double, double, int, const std::vector<Color>&) {}
std::vector<char> Drawing::png(double) const {
    return {};
}

}  // namespace convolume::cli
