// SPDX-License-Identifier: Apache-2.0
#include "optics/pinhole.hpp"

#include <algorithm>
#include <numbers>

#include "core/threads.hpp"
#include "optics/gauss_legendre.hpp"

namespace convolume::optics {

namespace {

constexpr double pi = std::numbers::pi;

// A disc of radius R whose center is r off the axis covers 2α of the ring of radius s, with
// cos α = (r² + s² − R²)/2rs; this form of tan(α/2) keeps its digits for small discs.
double half_arc(double disc, double center, double ring) {
    const double inside = (disc - center + ring) * (disc + center - ring);
    const double outside = (center + ring - disc) * (center + ring + disc);
    return 2 * std::atan2(std::sqrt(std::max(inside, 0.0)), std::sqrt(std::max(outside, 0.0)));
}

// At least `count` nodes between 0 and 1. Finding Gauss's takes the square of their number, so long
// ranges get several short rules.
Quadrature unit_rule(index_t count, const ExecutionContext& context) {
    constexpr index_t most = 64;
    const index_t intervals = (count + most - 1) / most;
    const Quadrature interval = gauss_legendre((count + intervals - 1) / intervals, 0, 1, context);
    const double length = 1 / static_cast<double>(intervals);
    Quadrature rule;
    for (index_t i = 0; i < intervals; ++i)
        for (std::size_t j = 0; j < interval.nodes.size(); ++j) {
            rule.nodes.push_back((static_cast<double>(i) + interval.nodes[j]) * length);
            rule.weights.push_back(interval.weights[j] * length);
        }
    return rule;
}

}  // namespace

Pinhole::Pinhole(double radius_um, const RadialGrid& grid, const std::vector<double>& radii_um,
                 int threads, const ExecutionContext& context)
    : rows_(radii_um.size()) {
    index_t total = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double nearest = std::max(radii_um[i] - radius_um, 0.0);
        const double farthest = radii_um[i] + radius_um;
        const index_t first = std::max(grid.stencil(nearest).first, index_t{0});
        const index_t last = std::max(grid.stencil(farthest).first + 5, index_t{2});
        rows_[i] = {first, total, std::min(last, grid.count() - 1) - first + 1};
        total += rows_[i].length;
    }
    weights_.assign(static_cast<std::size_t>(total), 0.0);

    // Some eight nodes a step of the grid: it has 20 steps to a period of the highest frequency.
    const index_t count = 48 + static_cast<index_t>(4 * radius_um / grid.step_um());
    const Quadrature unit = unit_rule(count, context);
    parallel_for(static_cast<index_t>(rows_.size()), threads, [&](index_t row_number, int) {
        if (context.stop.stop_requested()) return;
        const auto i = static_cast<std::size_t>(row_number);
        double* const row = weights_.data() + rows_[i].begin;
        const auto add = [&](double ring, double weight) {
            const RadialGrid::Stencil around = grid.stencil(ring);
            for (std::size_t j = 0; j < 6; ++j) {
                const index_t at = std::abs(around.first + static_cast<index_t>(j));
                const index_t column = std::min(at - rows_[i].first, rows_[i].length - 1);
                row[column] += weight * around.weights[j];
            }
        };
        const double center = radii_um[i], area = radius_um * radius_um;  // over π
        // Rings around the axis that the disc covers wholly …
        const double whole = std::max(radius_um - center, 0.0);
        for (std::size_t j = 0; j < unit.nodes.size() && whole > 0; ++j) {
            const double ring = whole * unit.nodes[j];
            add(ring, whole * unit.weights[j] * 2 * ring / area);
        }
        // … and in part: the arc leaves both ends like a square root, which θ takes away.
        const double large = std::max(radius_um, center), small = std::min(radius_um, center);
        for (std::size_t j = 0; j < unit.nodes.size() && small > 0; ++j) {
            const double theta = pi * unit.nodes[j];
            const double ring = large - small * std::cos(theta);
            const double length = pi * unit.weights[j] * small * std::sin(theta);
            add(ring, length * 2 * ring * half_arc(radius_um, center, ring) / (pi * area));
        }
    });
    throw_if_stopped(context);
}

void Pinhole::apply(const double* profile, double* means) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double* const values = profile + rows_[i].first;
        const double* const weights = weights_.data() + rows_[i].begin;
        double mean = 0;
#pragma omp simd reduction(+ : mean)
        for (index_t j = 0; j < rows_[i].length; ++j) mean += weights[j] * values[j];
        means[i] = mean;
    }
}

}  // namespace convolume::optics
