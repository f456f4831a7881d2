// SPDX-License-Identifier: Apache-2.0
#include "optics/shifted_box.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convolume::optics {

namespace {

constexpr index_t taps = 16;

struct Axis {
    index_t first;  ///< of the samples for the first value
    std::array<double, taps> weights;
};

Axis axis_at(double center, index_t extent) {
    const double begin = center - static_cast<double>(extent / 2);
    const double whole = std::floor(begin), fraction = begin - whole;
    Axis axis{static_cast<index_t>(whole) - taps / 2 + 1, {}};
    constexpr double beta = 6;
    double sum = 0;
    for (index_t i = 0; i < taps; ++i) {
        const double away = static_cast<double>(i - taps / 2 + 1) - fraction;
        const double angle = std::numbers::pi * away;
        const double edge = std::max(0.0, 1 - away * away / (0.25 * taps * taps));
        double& weight = axis.weights[static_cast<std::size_t>(i)];
        weight = (std::abs(angle) < 1e-9 ? 1 : std::sin(angle) / angle) *
                 std::cyl_bessel_i(0, beta * std::sqrt(edge));
        sum += weight;
    }
    for (double& weight : axis.weights) weight /= sum;
    return axis;
}

}  // namespace

std::vector<double> shifted_box(const ConstImageView& stack, const std::array<double, 3>& center,
                                const Shape3& size) {
    const Axis z = axis_at(center[0], size.z), y = axis_at(center[1], size.y),
               x = axis_at(center[2], size.x);
    const auto count = [](index_t a, index_t b, index_t c) {
        return static_cast<std::size_t>(a * b * c);
    };
    const index_t depth = size.z + taps - 1, height = size.y + taps - 1;
    std::vector<double> along_x(count(depth, height, size.x)),
        along_y(count(depth, size.y, size.x)), box(count(size.z, size.y, size.x));
    for (index_t k = 0; k < depth; ++k)
        for (index_t j = 0; j < height; ++j) {
            const auto* const row = static_cast<const float*>(
                stack.at(std::clamp(z.first + k, index_t{0}, stack.shape.z - 1),
                         std::clamp(y.first + j, index_t{0}, stack.shape.y - 1), 0));
            for (index_t i = 0; i < size.x; ++i) {
                double sum = 0;
                for (index_t t = 0; t < taps; ++t)
                    sum += x.weights[static_cast<std::size_t>(t)] *
                           static_cast<double>(
                               row[std::clamp(x.first + i + t, index_t{0}, stack.shape.x - 1)]);
                along_x[static_cast<std::size_t>((k * height + j) * size.x + i)] = sum;
            }
        }
    for (index_t k = 0; k < depth; ++k)
        for (index_t j = 0; j < size.y; ++j)
            for (index_t t = 0; t < taps; ++t)
                for (index_t i = 0; i < size.x; ++i)
                    along_y[static_cast<std::size_t>((k * size.y + j) * size.x + i)] +=
                        y.weights[static_cast<std::size_t>(t)] *
                        along_x[static_cast<std::size_t>((k * height + j + t) * size.x + i)];
    const index_t plane = size.y * size.x;
    for (index_t k = 0; k < size.z; ++k)
        for (index_t t = 0; t < taps; ++t)
            for (index_t i = 0; i < plane; ++i)
                box[static_cast<std::size_t>(k * plane + i)] +=
                    z.weights[static_cast<std::size_t>(t)] *
                    along_y[static_cast<std::size_t>((k + t) * plane + i)];
    return box;
}

}  // namespace convolume::optics
