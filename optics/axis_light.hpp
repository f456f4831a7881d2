// SPDX-License-Identifier: Apache-2.0
#pragma once
// Light on the axis.

#include <vector>

#include "optics/response.hpp"

namespace convolume::optics {

/// nᵢ λ/NA² of the shortest wavelength: peaks on the axis are as wide at least.
double depth_of_field_um(const PsfOptions& options);

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

}  // namespace convolume::optics
