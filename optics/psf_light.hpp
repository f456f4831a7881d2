// SPDX-License-Identifier: Apache-2.0
#pragma once
// Light of a PSF: on its axis, and in planes of constant z.

#include <vector>

#include "optics/response.hpp"

namespace convolume::optics {

/// Intensity on the axis at any z up to `reach_um` from `center_um`.
class AxisIntensity {
  public:
    AxisIntensity(const PsfOptions& options, double center_um, double reach_um,
                  const ExecutionContext& context);
    /// Returns the intensity at `z_um`. Throws Cancelled.
    double operator()(double z_um) const;

  private:
    const ExecutionContext& context_;
    MicroscopeResponse response_;
    mutable std::vector<double> scratch_;
};

/// Returns half the extent along z, around `center_um`, that holds `share` of ∫ h(0, z) dz.
double half_depth_for(const PsfOptions& options, double center_um, double share,
                      const ExecutionContext& context);

/// Light of the plane at one z, in units of intensity times µm².
struct PlaneLight {
    double step_um;
    std::vector<double> within;  ///< within[i]: light at distances up to i · step_um from the axis
    double total;                ///< light of the whole plane

    /// Returns the least radius that holds `share` of the total; negative if `within` ends before.
    double radius_of(double share) const;
    /// Returns the share of light in the rectangle up to `half_y_um` and `half_x_um` from the axis.
    double share_of(double half_y_um, double half_x_um) const;
};

/// Returns the light up to `radius_um` or farther at each of `z_um`. Totals follow from Parseval's
/// theorem. For products, which have no such formula, they are sums about as far from the axis as
/// rays go, and about 1 % low.
std::vector<PlaneLight> plane_light(const PsfOptions& options, const std::vector<double>& z_um,
                                    double radius_um, int threads, const ExecutionContext& context);

}  // namespace convolume::optics
