// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

namespace convolume::testing {
namespace {

constexpr std::size_t voxels_printed = 6;

std::string worst_voxels(const Array& want, const Array& got, double error) {
    const auto difference = [&](std::size_t i) {
        const double d = std::abs(want.values[i] - got.values[i]);
        return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
    };
    std::vector<std::size_t> order(want.values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t shown = std::min(voxels_printed, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                      order.end(),
                      [&](std::size_t a, std::size_t b) { return difference(a) > difference(b); });
    std::ostringstream text;
    text.precision(9);
    text << "relative L2 error " << error << "; worst voxels:";
    for (std::size_t n = 0; n < shown; ++n) {
        const auto i = static_cast<index_t>(order[n]);
        const index_t x = i % want.shape.x, y = i / want.shape.x % want.shape.y,
                      z = i / want.shape.x / want.shape.y;
        text << "\n  [" << z << ", " << y << ", " << x << "] want " << want.values[order[n]]
             << " got " << got.values[order[n]];
    }
    return text.str();
}

}  // namespace

double norm_floor(const Array& image, const Array& kernel, index_t outputs, double beyond) {
    const double rms = norm(image) / std::sqrt(static_cast<double>(image.count()));
    return std::sqrt(static_cast<double>(outputs)) * norm(kernel) * std::max(rms, std::abs(beyond));
}

Comparison compare(const Array& want, const Array& got, double floor) {
    if (!(want.shape == got.shape))
        return {std::numeric_limits<double>::quiet_NaN(),
                "shape " + to_string(got.shape) + " instead of " + to_string(want.shape)};
    Array difference(want.shape);
    for (std::size_t i = 0; i < want.values.size(); ++i)
        difference.values[i] = got.values[i] - want.values[i];
    const double distance = norm(difference);
    const double size = std::max(norm(want), floor);
    const double error = distance == 0 ? 0 : distance / size;
    return {error, error < 1e-15 ? std::string() : worst_voxels(want, got, error)};
}

bool same(const Array& a, const Array& b) {
    return a.shape == b.shape && a.values == b.values;
}

}  // namespace convolume::testing
