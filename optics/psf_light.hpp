// SPDX-License-Identifier: Apache-2.0
#pragma once
// Light of a PSF on its axis, and in planes of constant z.

#include <vector>

#include "optics/response.hpp"

namespace convolume::optics {

/// Intensity on the axis at any z up to `reach_um` from `center_um`.
class AxisIntensity {
  public:
    AxisIntensity(const PsfOptions& options, double center_um, double reach_um,
                  const ExecutionContext& context);
    /// Throws Cancelled.
    double operator()(double z_um) const;

  private:
    const ExecutionContext& context_;
    Response response_;
    mutable std::vector<double> scratch_;
};

/// Half the extent along z, about `center_um`, that holds `share` of ∫ h(0, z) dz.
double half_depth_for(const PsfOptions& options, double center_um, double share,
                      const ExecutionContext& context);

/// Light of the plane at one z, in units of intensity times µm².
struct PlaneLight {
    double step_um;
    std::vector<double> within;  ///< within[i]: at distances up to i · step_um
    double total;                ///< in the whole plane

    /// Least of the radii here that holds `share` of the total; negative where none does.
    double radius_of(double share) const;
    /// The share of the total within `half_y_um` and `half_x_um` of the axis.
    double share_of(double half_y_um, double half_x_um) const;
};

/// Light up to `radius_um` or beyond at each of `z_um`. Totals are Parseval's; for products,
/// which have no such formula, what lies about as far from the axis as rays go, and
/// they are some 1 % low.
std::vector<PlaneLight> plane_light(const PsfOptions& options, const std::vector<double>& z_um,
                                    double radius_um, int threads, const ExecutionContext& context);

}  // namespace convolume::optics
