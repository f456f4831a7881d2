// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points at which functions are sampled: Gauss–Legendre quadrature, and radii at equal steps.

#include <array>
#include <cmath>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/shape.hpp"

namespace convolume::optics {

struct Quadrature {
    std::vector<double> nodes;
    std::vector<double> weights;
};

/// Returns the rule with `count` nodes on [begin, end]. Throws Cancelled.
Quadrature gauss_legendre(index_t count, double begin, double end, const ExecutionContext& context);

/// Radii 0, step, 2 step, … up to `farthest_um` and a few more. They sample profiles that are even
/// functions of the radius without angular frequencies above `band_per_um`.
class RadialGrid {
  public:
    /// Step, in radians of the highest frequency, for the accuracy of float32 between six points.
    static constexpr double fine = 0.3;

    RadialGrid(double band_per_um, double farthest_um, double step_rad = fine)
        : step_um_(step_rad / band_per_um),
          count_(static_cast<index_t>(farthest_um / step_um_) + 4) {}

    double step_um() const { return step_um_; }
    index_t count() const { return count_; }
    double end_um() const { return step_um_ * static_cast<double>(count_); }
    std::vector<double> radii() const {
        std::vector<double> radii(static_cast<std::size_t>(count_));
        for (std::size_t i = 0; i < radii.size(); ++i) radii[i] = step_um_ * static_cast<double>(i);
        return radii;
    }

    /// Lagrange interpolation from six neighboring values: weights[i] is the weight of the value at
    /// index |first + i|.
    struct Stencil {
        index_t first;
        std::array<double, 6> weights;
    };
    Stencil stencil(double radius_um) const {
        const double position = radius_um / step_um_;
        const index_t at = static_cast<index_t>(position);
        const double u = position - static_cast<double>(at);
        const double a = u + 2, b = u + 1, c = u, d = u - 1, e = u - 2, f = u - 3;
        const double ab = a * b, cd = c * d, ef = e * f;
        return {at - 2,
                {-b * cd * ef / 120, a * cd * ef / 24, -ab * d * ef / 12, ab * c * ef / 12,
                 -ab * cd * f / 24, ab * cd * e / 120}};
    }
    double interpolate(const double* profile, double radius_um) const {
        const Stencil around = stencil(radius_um);
        double value = 0;
        for (index_t i = 0; i < 6; ++i)
            value +=
                around.weights[static_cast<std::size_t>(i)] * profile[std::abs(around.first + i)];
        return value;
    }

  private:
    double step_um_;
    index_t count_;
};

}  // namespace convolume::optics
