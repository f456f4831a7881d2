// SPDX-License-Identifier: Apache-2.0
#include "optics/phantom_texture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "optics/random_draws.hpp"

namespace convolume::optics {

namespace {

constexpr double grid_um = 0.8;
// Uniform numbers of ±1 through three cubic B-splines have a standard deviation of about 0.19.
constexpr double contrast = 0.3 / 0.19;

/// The four splines that reach `position` (in grid steps), and the grid index of the first.
struct Splines {
    index_t first;
    std::array<double, 4> weight;

    explicit Splines(double position) {
        const double whole = std::floor(position);
        const double t = position - whole, s = 1 - t;
        first = static_cast<index_t>(whole) - 1;
        weight = {s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6,
                  (4 - 6 * s * s + 3 * s * s * s) / 6, t * t * t / 6};
    }
};

/// Grid points have numbers of 21 bits an axis; farther ones repeat.
double grid_value(std::uint64_t seed, index_t z, index_t y, index_t x) {
    constexpr std::uint64_t mask = (1u << 21) - 1;
    const auto part = [](index_t i) { return static_cast<std::uint64_t>(i) & mask; };
    const std::uint64_t place = part(z) << 42 | part(y) << 21 | part(x);
    return Draws(seed, Purpose::texture, place).uniform(-1, 1);
}

}  // namespace

void PhantomTexture::multiply_row(index_t z, index_t y, index_t width, double* row) const {
    const auto position = [](index_t i, double voxel_um) {
        return static_cast<double>(i) * voxel_um / grid_um;
    };
    const Splines in_z(position(z, voxel_.z_um)), in_y(position(y, voxel_.y_um));
    const index_t first = Splines(0).first;
    const index_t last = Splines(position(width - 1, voxel_.x_um)).first + 3;
    std::vector<double> along(static_cast<std::size_t>(last - first + 1));
    for (index_t x = first; x <= last; ++x) {
        double sum = 0;
        for (index_t i = 0; i < 4; ++i)
            for (index_t j = 0; j < 4; ++j)
                sum += in_z.weight[static_cast<std::size_t>(i)] *
                       in_y.weight[static_cast<std::size_t>(j)] *
                       grid_value(seed_, in_z.first + i, in_y.first + j, x);
        along[static_cast<std::size_t>(x - first)] = sum;
    }
    for (index_t x = 0; x < width; ++x) {
        const Splines in_x(position(x, voxel_.x_um));
        const double* const values = along.data() + (in_x.first - first);
        double noise = 0;
        for (std::size_t i = 0; i < 4; ++i) noise += in_x.weight[i] * values[i];
        row[x] *= std::max(0.0, 1 + contrast * noise);
    }
}

}  // namespace convolume::optics
