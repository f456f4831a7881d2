// SPDX-License-Identifier: Apache-2.0
#include "optics/phantom_body.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convolume::optics {

namespace {

/// The largest whole number whose step is still within `radius`.
index_t steps_within(double radius, index_t fineness) {
    return static_cast<index_t>(radius * static_cast<double>(fineness));
}

}  // namespace

BodyLattice::BodyLattice(const Point& radius, double hollow)
    : radius_(radius),
      volume_(4.0 / 3 * std::numbers::pi * radius[0] * radius[1] * radius[2] *
              (1 - hollow * hollow * hollow)) {
    // Some eight points across the smallest bodies, one a voxel in large ones, whose edges are
    // smooth without more.
    for (std::size_t axis = 0; axis < 3; ++axis)
        fineness_[axis] =
            radius[axis] < 64
                ? std::clamp<index_t>(static_cast<index_t>(std::ceil(4 / radius[axis])), 2, 8)
                : 1;
    layers_ = steps_within(radius[0], fineness_[0]);
    for (index_t i = -layers_; i <= layers_; ++i) {
        first_row_.push_back(rows_.size());
        const double z = static_cast<double>(i) / static_cast<double>(fineness_[0]) / radius[0];
        const double across = std::sqrt(std::max(0.0, 1 - z * z));
        const index_t rows = steps_within(radius[1] * across, fineness_[1]);
        for (index_t j = -rows; j <= rows; ++j) {
            const double y = static_cast<double>(j) / static_cast<double>(fineness_[1]) / radius[1];
            const double outside = 1 - z * z - y * y;
            const double inside = hollow * hollow - z * z - y * y;
            Row row{j, steps_within(radius[2] * std::sqrt(std::max(0.0, outside)), fineness_[2]),
                    -1};
            if (hollow > 0 && inside >= 0)
                row.hollow = steps_within(radius[2] * std::sqrt(inside), fineness_[2]);
            rows_.push_back(row);
            points_ += static_cast<double>(2 * (row.points - row.hollow) - (row.hollow < 0));
        }
    }
    first_row_.push_back(rows_.size());
    if (points_ > 0) return;
    // So small that only the middle point is left.
    rows_.front().hollow = -1;
    points_ = 1;
}

void BodyLattice::add(const Point& center, double value, index_t z, index_t y_begin, index_t y_end,
                      index_t width, double* rows) const {
    const Point step{1 / static_cast<double>(fineness_[0]), 1 / static_cast<double>(fineness_[1]),
                     1 / static_cast<double>(fineness_[2])};
    const double light = value * volume_ / points_;
    const double plane = static_cast<double>(z);
    const auto layer_at = [&](double position) {
        return std::clamp((position - center[0]) / step[0], -1e9, 1e9);
    };
    const index_t first = std::max(-layers_, static_cast<index_t>(std::ceil(layer_at(plane - 1))));
    const index_t last = std::min(layers_, static_cast<index_t>(std::floor(layer_at(plane + 1))));
    for (index_t i = first; i <= last; ++i) {
        const double share_z = 1 - std::abs(center[0] + static_cast<double>(i) * step[0] - plane);
        if (share_z <= 0) continue;
        const auto layer = static_cast<std::size_t>(i + layers_);
        for (std::size_t r = first_row_[layer]; r < first_row_[layer + 1]; ++r) {
            const double y = center[1] + static_cast<double>(rows_[r].y) * step[1];
            const index_t upper = static_cast<index_t>(std::floor(y));
            if (upper + 1 < y_begin || upper >= y_end) continue;
            const double below = y - static_cast<double>(upper);
            for (index_t k = 0; k < 2; ++k) {
                const index_t row = upper + k;
                if (row < y_begin || row >= y_end) continue;
                const double share = light * share_z * (k == 0 ? 1 - below : below);
                double* const target = rows + (row - y_begin) * width;
                for (index_t p = -rows_[r].points; p <= rows_[r].points; ++p) {
                    if (std::abs(p) <= rows_[r].hollow) p = rows_[r].hollow + 1;
                    if (p > rows_[r].points) break;
                    const double x = center[2] + static_cast<double>(p) * step[2];
                    const double left = std::floor(x);
                    const index_t column = static_cast<index_t>(left);
                    const double right = x - left;
                    if (column >= 0 && column < width) target[column] += share * (1 - right);
                    if (column >= -1 && column + 1 < width) target[column + 1] += share * right;
                }
            }
        }
    }
}

}  // namespace convolume::optics
