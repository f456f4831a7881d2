// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/brightest_part.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "deconvolve/formulas.hpp"

namespace convolume::deconvolve {

namespace {

/// Edge of a square of a plane whose light is added up.
constexpr index_t cell = 32;

}  // namespace

BrightestPart::BrightestPart(const Shape3& image, const Shape3& part, int threads)
    : image_(image),
      part_(part),
      threads_(threads),
      cells_y_(ceil_div(image.y, cell)),
      cells_x_(ceil_div(image.x, cell)) {
    clear();
}

void BrightestPart::clear() {
    light_.assign(static_cast<std::size_t>(cells_y_ * cells_x_), 0.0);
}

void BrightestPart::add_plane(const float* pixels) {
    parallel_for(cells_y_, threads_, [&](index_t row, int) {
        double* const sums = light_.data() + row * cells_x_;
        for (index_t y = row * cell; y < std::min((row + 1) * cell, image_.y); ++y)
            for (index_t x = 0; x < image_.x; ++x) {
                const float value = pixels[y * image_.x + x];
                if (richardson_lucy::is_measured(value)) sums[x / cell] += value;
            }
    });
}

Box3 BrightestPart::find() const {
    const index_t height = std::min(ceil_div(part_.y, cell), cells_y_);
    const index_t width = std::min(ceil_div(part_.x, cell), cells_x_);
    // sum(y, x) is the light of all cells above and to the left.
    const index_t row = cells_x_ + 1;
    std::vector<double> sum(static_cast<std::size_t>((cells_y_ + 1) * row));
    const auto at = [&](index_t y, index_t x) -> double& {
        return sum[static_cast<std::size_t>(y * row + x)];
    };
    for (index_t y = 0; y < cells_y_; ++y)
        for (index_t x = 0; x < cells_x_; ++x)
            at(y + 1, x + 1) = at(y, x + 1) + at(y + 1, x) - at(y, x) +
                               light_[static_cast<std::size_t>(y * cells_x_ + x)];
    double most = -1;
    Index3 begin;
    for (index_t y = 0; y + height <= cells_y_; ++y)
        for (index_t x = 0; x + width <= cells_x_; ++x) {
            const double light =
                at(y + height, x + width) - at(y, x + width) - at(y + height, x) + at(y, x);
            if (light <= most) continue;
            most = light;
            begin = {0, std::min(y * cell, image_.y - part_.y),
                     std::min(x * cell, image_.x - part_.x)};
        }
    return {begin, {part_.z, begin.y + part_.y, begin.x + part_.x}};
}

}  // namespace convolume::deconvolve
